"""`headway run --cache http://…`: a real collector, real trainings on hosts that never compiled;
environments at another path, and GPUs of another kind."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cache_command import BOUND, HEADWAY, Cache, read_tree, some_tree, write_tree
from test_run_cache import Fleet, assert_cold, assert_warm, mounted, needs_root, pytestmark

__all__ = ["pytestmark"]


class Server:
    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        self.log = folder / "serve.log"

    @property
    def caches(self) -> Path:
        return Path(f"{self.store}.caches")

    def archives(self) -> list[Path]:
        return sorted(self.caches.rglob("*.hwc"))

    def token(self, *words: str) -> str:
        command = [HEADWAY, "serve", "token", "add", "--store", self.store, *words, "--json"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        (token,) = re.findall(r"hw_[A-Za-z0-9_-]{43}", said)
        return token

    @contextlib.contextmanager
    def running(self, *options: str) -> Iterator[str]:
        command = [HEADWAY, "serve", "--store", self.store, "--listen", "127.0.0.1:0", *options]
        with self.log.open("a") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            found = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
            assert found, self.log.read_text()
            yield f"http://{found[0]}"
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Server:
    (tmp_path / "collector").mkdir()
    return Server(tmp_path / "collector")


def test_what_one_host_compiles_the_next_one_has(
    cache: Cache, server: Server, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path / "fleet")
    key = cache.home / ".config/headway/cache-key.pem"
    fleet.variables = {
        "HEADWAY_CACHE_KEY": str(key),
        "HEADWAY_TOKEN": server.token("--role", "ingest", "--tenant", "ads"),
    }
    other = server.token("--role", "ingest", "--tenant", "research")
    with server.running() as url:
        cold = fleet.run("--cache", url)
        assert_cold(cold)
        assert f"to {url}" in cold.said and len(server.archives()) >= 1
        assert all("ads" in path.parts for path in server.archives())
        had = server.archives()
        warm = fleet.run("--cache", url)
        assert_warm(warm)
        assert warm.cache["pulled_files"] > 0
        assert warm.out[0]["losses"] == cold.out[0]["losses"]
        assert server.archives() == had
        # Another tenant's job sees nothing of it.
        refused = Cache(cache.home, {"HEADWAY_TOKEN": other})
        assert refused.json("pull", url, "--to", tmp_path / "to", *BOUND)["archives"] == 0
    # Nobody listens there any more: a cold start, and a line.
    done = fleet.run("--cache", url)
    assert_cold(done)
    assert "starting cold" in done.said
    assert done.out[0]["losses"] == cold.out[0]["losses"]


def test_verbs_on_a_collector(cache: Cache, server: Server, tmp_path: Path) -> None:
    for seed in (1, 2):
        cache.pack(write_tree(tmp_path / f"c{seed}", some_tree(seed)), tmp_path / f"{seed}.hwc")
    with server.running() as url:
        cache.run("push", tmp_path / "1.hwc", tmp_path / "2.hwc", "--to", url)
        again = cache.json("push", tmp_path / "1.hwc", "--to", url + "/")
        assert not again["archives"][0]["pushed"]
        done = cache.json("pull", url, "--to", tmp_path / "to", *BOUND)
        assert done["archives"] == 2
        assert read_tree(tmp_path / "to") == some_tree(1) | some_tree(2)
        # Two become one.
        assert cache.json("gc", url)["archives_after"] == len(server.archives()) >= 1
        done = cache.json("pull", url, "--to", tmp_path / "again", *BOUND)
        assert read_tree(tmp_path / "again") == some_tree(1) | some_tree(2)
        (damaged, *_rest) = server.archives()
        data = bytearray(damaged.read_bytes())
        data[100] ^= 1
        damaged.write_bytes(data)
        done = cache.json("pull", url, "--to", tmp_path / "third", *BOUND)
        assert len(done["passed_over"]) == 1
    with server.running("--caches", "off") as url:
        refused = cache.run("push", tmp_path / "1.hwc", "--to", url, code=2).stderr
        assert "--caches off" in refused and "501" in refused
    refused = cache.run("pull", "http:///x", "--to", tmp_path / "to", *BOUND, code=2).stderr
    assert "write it like http://host:8743" in refused


@needs_root
def test_a_full_disk_costs_a_line(cache: Cache, server: Server, tmp_path: Path) -> None:
    tree = {"ab/clarge.main.so": os.urandom(8 << 20)}
    cache.pack(write_tree(tmp_path / "large", tree), tmp_path / "large.hwc")
    cache.pack(write_tree(tmp_path / "small", some_tree()), tmp_path / "small.hwc")
    with mounted(server.caches, "-t", "tmpfs", "-o", "size=4m", "none"), server.running() as url:
        refused = cache.run("push", tmp_path / "large.hwc", "--to", url, code=2).stderr
        assert "the collector has no room" in refused and "507" in refused
        left = [path for path in server.caches.rglob("*") if path.is_file()]
        assert not left, "half an archive"
        cache.run("push", tmp_path / "small.hwc", "--to", url)
        assert len(server.archives()) == 1


def test_a_database_that_others_share_keeps_none(server: Server) -> None:
    """No server of PostgreSQL is asked: the answer does not depend on one."""
    command = [HEADWAY, "serve", "--store", "postgres://nobody@127.0.0.1:1/x", "--caches", "/tmp/x"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "--cache s3://bucket/prefix" in done.stderr


def test_in_an_environment_at_another_path_nothing_is_compiled(tmp_path: Path) -> None:
    import torch

    fleet = Fleet(tmp_path / "fleet")
    assert_cold(fleet.run())
    site = tmp_path / "other" / "site-packages"
    site.parent.mkdir()
    site.symlink_to(Path(torch.__file__).parents[1], target_is_directory=True)
    # What a virtual environment there would be: torch lies, and is imported, below that path.
    done = fleet.run("--quiet", PYTHONPATH=str(site))
    assert done.cache["pulled_files"] > 0, done.report
    assert done.cache["builds"] == 0, (done.cache, done.said)
    assert done.cache["misses"] == 0, done.cache
    # And the next one there finds them under its own environment's name.
    assert_warm(fleet.run(PYTHONPATH=str(site)))


SMI = """#!/bin/sh
echo "$@" >> {calls}
echo {answer}
"""


def test_gpus_of_another_kind_have_their_own(cache: Cache, tmp_path: Path) -> None:
    """nvidia-smi is a stand-in: there is no GPU here."""
    shelf = tmp_path / "shelf"

    def on(kind: str, home: str) -> tuple[Cache, Path]:
        bin_folder = tmp_path / f"bin-{kind}"
        bin_folder.mkdir(exist_ok=True)
        calls = tmp_path / f"calls-{kind}"
        program = bin_folder / "nvidia-smi"
        program.write_text(SMI.format(calls=calls, answer=kind))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        variables = {
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path / home),
            "HEADWAY_CACHE_KEY": str(cache.home / ".config/headway/cache-key.pem"),
        }
        return Cache(cache.home, variables), calls

    hopper, calls = on("9.0", "one")
    tree = write_tree(tmp_path / "c", some_tree())
    assert hopper.pack(tree, tmp_path / "x.hwc")["binding"]["gpu"] == "sm_90"
    assert "--query-gpu=compute_cap" in calls.read_text()
    hopper.run("push", tmp_path / "x.hwc", "--to", shelf)
    assert hopper.json("pull", shelf, "--to", tmp_path / "to", *BOUND)["archives"] == 1
    assert len(calls.read_text().splitlines()) == 1, "it is remembered"
    ampere, _calls = on("8.0", "two")
    done = ampere.json("pull", shelf, "--to", tmp_path / "to2", *BOUND)
    assert done["archives"] == 0 and done["unfit_why"] == "gpu is 'sm_90' there and 'sm_80' here"
    # Where something has changed under the same home it is asked again.
    swapped, _calls = on("8.0", "one")
    assert swapped.pack(tree, tmp_path / "y.hwc")["binding"]["gpu"] == "sm_80"
    # A torch that makes no code for GPUs is bound to none; so is who says so.
    bound = ["--torch", "2.13.0+cpu", *BOUND[2:]]
    cpu = hopper.json("pack", tree, "-o", tmp_path / "z.hwc", *bound)
    assert cpu["binding"]["gpu"] == ""
    assert hopper.pack(tree, tmp_path / "n.hwc", "--gpu", "none")["binding"]["gpu"] == ""


JOB = """
import os, pathlib
place = pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], "ab")
print("there" if (place / "cgpu.py").exists() else "not there")
place.mkdir(parents=True, exist_ok=True)
(place / "cgpu.py").write_text("def call(args): pass")
"""


def test_a_job_asks_by_itself(cache: Cache, tmp_path: Path) -> None:
    """Its torch is a stand-in, too: one that is for GPUs."""
    torch = tmp_path / "site/torch"
    torch.mkdir(parents=True)
    (torch / "__init__.py").write_text("")
    (torch / "version.py").write_text("__version__ = '2.13.0+cu128'\ngit_version = 'abc'\n")
    (tmp_path / "job.py").write_text(JOB)
    fleet = Fleet(tmp_path / "fleet")
    said = []
    for number, kind in enumerate(("9.0", "8.0", "9.0")):
        program = tmp_path / f"bin{kind}/nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        program.write_text(SMI.format(calls=tmp_path / "calls", answer=kind))
        program.chmod(0o755)
        host = fleet.host()
        fleet.home.mkdir(exist_ok=True)
        environment = fleet.environment(host) | {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(tmp_path / "site"),
            "XDG_CACHE_HOME": str(tmp_path / f"cache{number}"),
        }
        command = [HEADWAY, "run", "--python", sys.executable, "--cache", str(fleet.shelf)]
        done = subprocess.run(
            [*command, "--cold", tmp_path / "job.py"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip())
    assert said == ["not there", "not there", "there"], said
