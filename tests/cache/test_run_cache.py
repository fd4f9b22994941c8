"""`headway run` and compile caches: real agent, real torch, hosts that never compiled."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cache_command import HEADWAY, Cache, read_tree, some_tree, write_tree

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("HEADWAY_PYTHON", ROOT / "build/python")).absolute()
SCRIPT = Path(__file__).parent / "scripts/train_compiled.py"
FAMILY = "train_compiled"
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="there is no torch here"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@dataclass
class Done:
    out: dict[str, Any]
    said: str
    report: dict[str, Any]

    @property
    def cache(self) -> dict[str, Any]:
        return self.report["compile_cache"]


@dataclass
class Fleet:
    """Hosts with a folder each for temporary files, and one home that has the key."""

    folder: Path
    hosts: int = 0
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def shelf(self) -> Path:
        return self.folder / "shelf"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def copy(self, folder: Path) -> Fleet:
        """Another fleet, with what this one has on its shelf, and its key."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.folder / "shelf", folder / "shelf")
        shutil.copytree(self.folder / "home", folder / "home")
        return Fleet(folder, self.hosts, dict(self.variables))

    def host(self) -> Path:
        self.hosts += 1
        made = self.folder / f"host{self.hosts}"
        made.mkdir(parents=True)
        return made

    def environment(self, host: Path) -> dict[str, str]:
        dropped = ("HEADWAY", "TORCH", "PYTHON", "XDG_", "VIRTUAL_ENV", "RANK", "OMP")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
        return (
            kept
            | {
                "HOME": str(self.home),
                "TMPDIR": str(host),
                "LOGNAME": "tester",
                "HEADWAY_DIR": str(host / "jobs"),
                "HEADWAY_PYTHON_DIR": str(PACKAGE),
                # Half of the time of a cold start, and not what most of these tests are about.
                "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
            }
            | self.variables
        )

    def run(self, *options: str, host: Path | None = None, script: str = "", **more: str) -> Done:
        """One job, alone on a host that is new unless it is named."""
        host = host or self.host()
        return self.end(self.start(*options, host=host, script=script, **more), host)

    def start(
        self, *options: str, host: Path, script: str = "", **more: str
    ) -> subprocess.Popen[str]:
        self.home.mkdir(exist_ok=True)
        arguments = script.split() if script else []
        place = [] if "--cache" in options else ["--cache", str(self.shelf)]
        command = [HEADWAY, "run", "--job", "job", "--python", sys.executable, *place, *options]
        return subprocess.Popen(
            [*command, SCRIPT, host / "out", *arguments],
            env=self.environment(host) | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, job: subprocess.Popen[str], host: Path) -> Done:
        try:
            _, said = job.communicate(timeout=900)
        finally:
            job.kill()  # its ranks end with it
        assert job.returncode == 0, said
        report = subprocess.run(
            [HEADWAY, "report", "job", "--json"],
            env=self.environment(host),
            capture_output=True,
            text=True,
        )
        assert report.returncode == 0, report.stderr
        out = {
            int(path.name.split(".")[1]): json.loads(path.read_text())
            for path in host.glob("out.*.json")
        }
        return Done(out, said, json.loads(report.stdout))

    def archives(self) -> list[Path]:
        return sorted(self.shelf.rglob("*.hwc"))


def assert_cold(done: Done) -> None:
    assert done.cache["misses"] > 0 and done.cache["builds"] > 0, done.report


def assert_warm(done: Done) -> None:
    assert done.cache["hits"] > 0, done.cache
    assert done.cache["misses"] == done.cache["builds"] == 0, done.cache
    assert done.cache["hit_pct"] == done.cache["coverage_pct"] == 100


@dataclass
class First:
    fleet: Fleet
    done: Done


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> First:
    """A fleet whose first job has compiled, and shared what it compiled."""
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    return First(fleet, fleet.run())


def test_the_first_job_shares_and_makes_a_key(first: First) -> None:
    assert_cold(first.done)
    assert "pushed" in first.done.said
    assert len(first.fleet.archives()) == 1
    key = first.fleet.home / ".config/headway/cache-key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert [path.name for path in key.parent.iterdir()] == [key.name]
    (note,) = [line for line in first.done.said.splitlines() if str(key) in line]
    assert "made" in note and "`headway cache keygen --public`" in note


def test_another_host_starts_warm_and_has_nothing_to_add(first: First, tmp_path: Path) -> None:
    fleet = first.fleet.copy(tmp_path)
    done = fleet.run()
    assert_warm(done)
    assert done.cache["pulled_files"] > 0 and done.cache["pulled_archives"] == 1
    assert done.out[0]["losses"] == first.done.out[0]["losses"]
    assert len(fleet.archives()) == 1
    assert "pushed" not in done.said and "keygen" not in done.said
    # What the cache directory of ours is called, and whose it is.
    (ours,) = (fleet.folder / f"host{fleet.hosts}").glob("headway-*")
    assert stat.S_IMODE(ours.stat().st_mode) == 0o700
    text = subprocess.run(
        [HEADWAY, "report", "job"],
        env=fleet.environment(fleet.folder / f"host{fleet.hosts}"),
        capture_output=True,
        text=True,
    ).stdout
    assert "Compile cache" in text and "found" in text


def test_what_is_new_is_added_alone(first: First, tmp_path: Path) -> None:
    fleet = first.fleet.copy(tmp_path)
    sizes = "--sizes 8,6,6"
    done = fleet.run(script=sizes)
    assert done.cache["hits"] > 0 and done.cache["misses"] > 0, done.cache
    assert len(fleet.archives()) == 2
    assert_warm(fleet.run(script=sizes))
    assert len(fleet.archives()) == 2


def test_precompiled_entries_go_along(tmp_path: Path) -> None:
    """Where a script has torch keep what dynamo made of its code, the next host need not trace."""
    fleet = Fleet(tmp_path, variables={"TORCH_CACHING_PRECOMPILE": "1"})
    first, second = (fleet.run(script="--precompile") for _ in range(2))
    assert first.out[0]["counters"]["dynamo_cache"] == {"dynamo_cache_miss": 1}
    assert second.out[0]["counters"]["dynamo_cache"] == {"dynamo_cache_hit": 1}
    assert second.out[0]["losses"] == first.out[0]["losses"]
    assert second.cache["builds"] == 0
    held = json.loads(Cache(fleet.home).run("ls", *fleet.archives(), "--json").stdout)
    assert "precompile" in json.dumps(held)


def test_ranks_of_a_fork_server_are_warm(first: First, tmp_path: Path) -> None:
    fleet = first.fleet.copy(tmp_path)
    fleet.variables["OMP_NUM_THREADS"] = "2"
    cold = fleet.run("--nproc", "2", script="--group")
    # Other kernels for another number of threads, or the same ones; then all are there.
    done = fleet.run("--nproc", "2", script="--group")
    assert sorted(done.out) == [0, 1]
    assert_warm(done)
    assert done.out[0]["losses"] == done.out[1]["losses"] == cold.out[0]["losses"]
    # While ranks train the fork server compiles something of its own, ahead for those that follow.
    ahead = fleet.run("--nproc", "2", "--max-restarts", "1", script="--group --killed-once 4")
    assert "start=plain" not in ahead.said
    assert len(ahead.report["attempts"]) == 2
    for rank in (0, 1):
        assert ahead.out[rank]["counters"] == done.out[rank]["counters"]
        assert ahead.out[rank]["losses"] == done.out[rank]["losses"]


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def share(fleet: Fleet, tree: Path, *bound: str) -> None:
    """What somebody has compiled elsewhere."""
    cache = Cache(fleet.home)
    cache.run("pack", tree, "-o", fleet.folder / "x.hwc", "--family", FAMILY, *bound)
    cache.run("push", fleet.folder / "x.hwc", "--to", fleet.shelf)


def sign_by_another(fleet: Fleet) -> None:
    shutil.rmtree(fleet.home / ".config")


def leave_unsigned(fleet: Fleet) -> None:
    """The same archive without a signature, under the same name."""
    (archive,) = fleet.archives()
    cache = Cache(fleet.folder / "keyless")
    cache.home.mkdir()
    to = fleet.folder / "unpacked"
    Cache(fleet.home).run("unpack", archive, "--to", to)
    bound = json.loads(Cache(fleet.home).run("ls", archive, "--json").stdout)["archives"][0]
    told = bound["binding"]
    given = ["--torch", told["torch"], "--torch-git", told["torch_git"], "--family", FAMILY]
    given += ["--python-tag", told["python"], "--environment", told["environment"]]
    cache.run("pack", to, "-o", fleet.folder / "x.hwc", *given)
    archive.unlink()
    cache.run("push", fleet.folder / "x.hwc", "--to", fleet.shelf)


def of_another_torch(fleet: Fleet) -> None:
    """All that is there is bound to another torch: nothing fits."""
    for archive in fleet.archives():
        archive.unlink()
    tree = write_tree(fleet.folder / "foreign", some_tree())
    given = ["--torch", "1.0.0", "--python-tag", "cpython-399", "--environment", "/elsewhere"]
    share(fleet, tree, *given)


def take_the_shelf_away(fleet: Fleet) -> None:
    shutil.rmtree(fleet.shelf)
    fleet.shelf.write_text("a file")


BAD = {
    "damaged": (lambda fleet: damage(fleet.archives()[0]), "passed over"),
    "empty": (lambda fleet: fleet.archives()[0].write_bytes(b""), "passed over"),
    "cut": (lambda fleet: os.truncate(fleet.archives()[0], 5000), "passed over"),
    "another's": (sign_by_another, "into a .pem file in "),
    "unsigned": (leave_unsigned, "passed over"),
    "another torch": (of_another_torch, ""),
    "no shelf": (take_the_shelf_away, "starting cold"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_shelf_costs_a_note(first: First, tmp_path: Path, kind: str) -> None:
    fleet = first.fleet.copy(tmp_path)
    spoil, told = BAD[kind]
    spoil(fleet)
    done = fleet.run()
    assert_cold(done)
    assert told in done.said
    assert "--unsigned" not in done.said, "an option that `headway run` does not have"
    assert done.out[0]["losses"] == first.done.out[0]["losses"]


def test_without_a_home_or_a_place_to_keep_it(first: First, tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    host = fleet.host()
    (host / f"headway-{os.geteuid()}").write_text("in the way")
    done = fleet.run(host=host)
    assert "starting without it" in done.said
    assert done.out[0]["losses"] == first.done.out[0]["losses"]


@contextlib.contextmanager
def mounted(place: Path, *how: str) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *how, place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


@needs_root
def test_a_directory_that_cannot_be_written(first: First, tmp_path: Path) -> None:
    """torch itself would fail there."""
    fleet = first.fleet.copy(tmp_path)
    directory = tmp_path / "inductor"
    directory.mkdir()
    fleet.variables["TORCHINDUCTOR_CACHE_DIR"] = str(directory)
    with mounted(directory, "--bind", str(directory)):
        subprocess.run(["mount", "-o", "remount,ro,bind", directory], check=True)
        done = fleet.run()
    assert f"{directory} (TORCHINDUCTOR_CACHE_DIR) cannot be written" in done.said
    assert_warm(done)
    assert not any(directory.iterdir())


@needs_root
def test_a_directory_without_room(first: First, tmp_path: Path) -> None:
    """Room for what torch needs, not for what somebody else has shared."""
    fleet = first.fleet.copy(tmp_path)
    tree = {"ab/large.main.so": os.urandom(24 << 20)}
    write_tree(tmp_path / "large", tree)
    share(fleet, tmp_path / "large", "--python", sys.executable)
    directory = tmp_path / "small"
    fleet.variables["TORCHINDUCTOR_CACHE_DIR"] = str(directory)
    with mounted(directory, "-t", "tmpfs", "-o", "size=16m", "none"):
        done = fleet.run()
        assert "no room" in done.said and "starting cold" in done.said
        assert_cold(done)


def test_of_a_directory_of_the_users_only_additions(first: First, tmp_path: Path) -> None:
    fleet = first.fleet.copy(tmp_path)
    directory = tmp_path / "mine"
    write_tree(directory, {"ab/cprivate.py": b"secret"})
    fleet.variables["TORCHINDUCTOR_CACHE_DIR"] = str(directory)
    fleet.run(script="--sizes 8,6,6")
    entries: set[str] = set()
    for archive in fleet.archives():
        to = tmp_path / archive.stem[:8]
        Cache(fleet.home).run("unpack", archive, "--to", to)
        entries |= set(read_tree(to))
    assert "ab/cprivate.py" not in entries
    assert len(fleet.archives()) == 2


def test_switched_off_nothing_is_kept(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    host = fleet.host()
    fleet.run("--cache", "off", host=host)
    assert not fleet.home.joinpath(".config").exists()
    assert not fleet.home.joinpath(".cache").exists()
    assert not list(host.glob("headway-*"))


def test_auto_is_kept_below_the_home(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    host = fleet.host()
    command = [HEADWAY, "run", "--job", "job", "--python", sys.executable]
    command += ["--cache", "auto", SCRIPT, host / "out"]
    for expected in (assert_cold, assert_warm):
        shutil.rmtree(host)
        host.mkdir()
        fleet.home.mkdir(exist_ok=True)
        environment = fleet.environment(host)
        subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL, timeout=600)
        report = subprocess.run(
            [HEADWAY, "report", "job", "--json"], env=environment, capture_output=True, check=True
        )
        expected(Done({}, "", json.loads(report.stdout)))
    assert list((fleet.home / ".cache/headway/compile" / FAMILY).rglob("*.hwc"))


def test_learnt_shapes_go_to_the_next_run(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    sizes = "--sizes 4,5,6,7"
    before = fleet.run("--learn-shapes", script=sizes).out[0]["counters"]["stats"]
    after = fleet.run("--learn-shapes", script=sizes).out[0]["counters"]["stats"]
    assert before["unique_graphs"] == 2  # for one size, then for all
    assert after["unique_graphs"] == 1
