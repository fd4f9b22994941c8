"""headway cache push, pull and gc with a real object store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program import HEADWAY
from store_stage import BUCKET, Server, Tool
from wires import Relay

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("HEADWAY_PYTHON", ROOT / "build/python")).absolute()
SCRIPT = ROOT / "tests/cache/scripts/train_compiled.py"

BOUND = ["--torch", "2.13.0", "--python-tag", "cpython-311", "--environment", "/venv"]


def cache(tool: Tool, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    return tool.headway("cache", *arguments, code=code)


def pack(tool: Tool, folder: Path, name: str) -> Path:
    (folder / name / "ab").mkdir(parents=True)
    (folder / name / "ab" / f"c{name}.py").write_text(f"# {name}\n" * 1000)
    out = folder / f"{name}.hwc"
    cache(tool, "pack", folder / name, "-o", out, *BOUND, "--family", "ctr")
    return out


def test_push_pull_and_gc(tool: Tool, server: Server, tmp_path: Path) -> None:
    cache(tool, "keygen")
    place = f"s3://{BUCKET}/caches/shared"
    arguments = [place, *BOUND, "--family", "ctr", "--json"]
    assert (
        json.loads(cache(tool, "pull", *arguments, "--to", tmp_path / "a").stdout)["archives"] == 0
    )
    for name in ("one", "two", "three"):
        archive = pack(tool, tmp_path, name)
        (pushed,) = json.loads(cache(tool, "push", archive, "--to", place, "--json").stdout)[
            "archives"
        ]
        assert pushed["pushed"] and pushed["place"].startswith(f"{place}/ctr/")
    (pushed,) = json.loads(cache(tool, "push", archive, "--to", place, "--json").stdout)["archives"]
    assert not pushed["pushed"]
    done = json.loads(cache(tool, "pull", *arguments, "--to", tmp_path / "b").stdout)
    assert (done["archives"], done["written"]) == (3, 3)
    assert sorted(path.name for path in (tmp_path / "b/ab").iterdir()) == [
        "cone.py",
        "cthree.py",
        "ctwo.py",
    ]
    # Another family has nothing: what it is bound to is read of the archives themselves.
    other = [place, *BOUND, "--family", "new", "--json"]
    done = cache(tool, "pull", *other, "--to", tmp_path / "other")
    assert json.loads(done.stdout)["family"] == "ctr" and "taken from family ctr" in done.stderr
    elsewhere = [*BOUND[:4], "--environment", "/other", "--family", "ctr", "--json"]
    done = json.loads(cache(tool, "pull", place, *elsewhere, "--to", tmp_path / "e").stdout)
    assert (done["archives"], done["same_environment"]) == (3, False)
    # One that is damaged in the store is passed over.
    key = pushed["place"].removeprefix(f"s3://{BUCKET}/")
    server.client().put_object(Bucket=BUCKET, Key=key, Body=b"half")
    done = cache(tool, "pull", *arguments, "--to", tmp_path / "c")
    assert json.loads(done.stdout)["archives"] == 2 and "passed over" in done.stderr
    server.client().delete_object(Bucket=BUCKET, Key=key)
    done = json.loads(cache(tool, "gc", place, "--json").stdout)
    assert (done["archives_before"], done["archives_after"]) == (2, 1)
    assert (
        json.loads(cache(tool, "pull", *arguments, "--to", tmp_path / "d").stdout)["written"] == 2
    )
    done = json.loads(cache(tool, "gc", place, "--max-size", "0", "--json").stdout)
    assert done["archives_after"] == 0


def run_job(
    folder: Path, home: Path, url: str, place: str, nproc: int = 1
) -> tuple[dict[str, Any], str, list[Any]]:
    """A job on a host that has never compiled: its report's cache, what it said, and the losses of
    each rank."""
    folder.mkdir()
    environment = Tool(home, url).environment() | {
        "TMPDIR": str(folder),
        "HEADWAY_DIR": str(folder / "jobs"),
        "HEADWAY_PYTHON_DIR": str(PACKAGE),
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        "OMP_NUM_THREADS": "1",  # or ranks of several would be given one, and one rank more
    }
    environment.pop("TORCHINDUCTOR_CACHE_DIR", None)
    command = [str(HEADWAY), "run", "--job", "job", "--python", sys.executable]
    command += ["--nproc", str(nproc), "--cache", place, str(SCRIPT), str(folder / "out")]
    done = subprocess.run(
        command + (["--group"] if nproc > 1 else []),
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    told = subprocess.run(
        [str(HEADWAY), "report", "job", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    outs = [json.loads((folder / f"out.{rank}.json").read_text()) for rank in range(nproc)]
    return json.loads(told.stdout)["compile_cache"], done.stderr, [out["losses"] for out in outs]


def test_ranks_of_a_node_share_one_download(server: Server, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    place = f"s3://{BUCKET}/caches/ranks"
    cache(Tool(tmp_path, server.url), "keygen")
    cold, _, losses = run_job(tmp_path / "first", tmp_path, server.url, place)
    assert cold["builds"] > 0 and cold["misses"] > 0
    wire = Relay(server.port)
    try:
        warm, said, same = run_job(tmp_path / "second", tmp_path, wire.url, place, nproc=2)
    finally:
        wire.close()
    assert warm["builds"] == warm["misses"] == 0 and warm["hits"] > 0, (warm, said)
    assert same == losses * 2
    stored = server.client().list_objects_v2(Bucket=BUCKET, Prefix="caches/ranks")["Contents"]
    fetched = [one.partition("?")[0] for one in wire.requests if one.startswith("GET /")]
    for one in stored:
        assert fetched.count(f"GET /{BUCKET}/{one['Key']}") == 1, wire.requests


def test_jobs_of_two_hosts(server: Server, tmp_path: Path) -> None:
    """`headway run --cache s3://…`: what the first one compiles the second one has."""
    pytest.importorskip("torch")
    place = f"s3://{BUCKET}/caches/jobs"

    def job(host: str) -> tuple[dict[str, Any], str, Any]:
        told, said, losses = run_job(tmp_path / host, tmp_path, server.url, place)
        return told, said, losses[0]

    # Without a key nothing is put there: each machine would have another one.
    cold, said, losses = job("keyless")
    assert cold["builds"] > 0 and "no key to sign with" in said
    assert "Contents" not in server.client().list_objects_v2(Bucket=BUCKET, Prefix="caches/jobs")
    cache(Tool(tmp_path, server.url), "keygen")
    cold, said, again = job("first")
    assert cold["builds"] > 0 and cold["misses"] > 0 and f"to {place}" in said
    warm, said, same = job("second")
    assert warm["builds"] == warm["misses"] == 0 and warm["hits"] > 0, warm
    assert warm["pulled_files"] > 0 and f"from {place}" in said
    assert losses == again == same
