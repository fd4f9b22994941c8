"""Journals that lie in an object store: a real server, from the everyday environment (.venv)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from free_ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/store"))  # store_stage.py

from spark_cluster import Cluster  # noqa: E402
from spark_runs import command, headway  # noqa: E402
from store_stage import BUCKET, Server, Tool, weed_command  # noqa: E402

VENV = Path(os.environ.get("HEADWAY_DEV_VENV", ROOT / ".venv"))
START_S = 60
FILL = """
import sys, time
from pathlib import Path
sys.path.append(sys.argv[1])
from store_stage import BUCKET, Server
client = Server(int(sys.argv[2]), 0, Path()).client()
deadline = time.monotonic() + float(sys.argv[4])
while True:
    try:
        client.create_bucket(Bucket=BUCKET)
        break
    except Exception:
        assert time.monotonic() < deadline
        time.sleep(0.2)
root = Path(sys.argv[3])
for file in root.rglob("*"):
    if file.is_file():
        client.upload_file(str(file), BUCKET, f"years/{file.relative_to(root)}")
"""


@pytest.fixture
def some_jobs(jobs: Path, tmp_path: Path) -> Path:
    root = tmp_path / "jobs"
    for name in sorted(folder.name for folder in jobs.iterdir())[:4]:
        shutil.copytree(jobs / name, root / name)
    (root / "README.txt").write_text("no journal")
    return root


@pytest.fixture
def store(some_jobs: Path, tmp_path: Path) -> Iterator[Server]:
    weed = VENV / "bin/weed"
    if not weed.exists():
        pytest.skip("NO SEAWEEDFS HERE: journals in a store are NOT tested")
    folder = tmp_path / "weed"
    folder.mkdir()
    ports = free_ports(9)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            weed_command(str(weed), folder, ports), stdout=log, stderr=log, cwd=folder
        )
    try:
        subprocess.run(
            [str(VENV / "bin/python"), "-c", FILL, str(ROOT / "tests/store"), str(ports[6])]
            + [str(some_jobs), str(START_S)],
            env=dict(os.environ, PYTHONPATH=str(ROOT / "tests/shared")),
            check=True,
            timeout=300,
        )
        yield Server(ports[6], ports[8], folder / "cert.pem")
    finally:
        process.kill()
        process.wait()


def test_journals_in_a_store_are_those_in_a_folder(
    cluster: Cluster, some_jobs: Path, store: Server, tmp_path: Path
) -> None:
    place = f"s3://{BUCKET}/years"
    env = Tool(tmp_path, store.url).environment() | {"TMPDIR": str(tmp_path)}
    here = json.loads(headway("fleet", "--journals", some_jobs, "--json", check=True).stdout)
    done = headway("fleet", "--journals", place, "--json", env=env)
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout)
    assert there["journals"] == place
    assert there["total"] == here["total"] and there["total"]["jobs"] == 4
    assert not list(tmp_path.glob("headway-*")), "what was fetched for the run stays"

    began = time.monotonic()
    words = command(cluster.url, some_jobs, tmp_path / "out", "--stage", tmp_path / "stage")
    words[words.index("--journals") + 1] = place
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[:1500] + done.stderr[-1500:]
    assert json.loads(done.stdout)["total"] == here["total"]
    print(f"from a store, on Spark: {time.monotonic() - began:.1f} s")
    missing = headway("fleet", "--journals", f"s3://{BUCKET}/nothing", env=env)
    assert missing.returncode == 2 and "no journals" in missing.stderr
