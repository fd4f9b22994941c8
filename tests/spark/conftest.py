"""Jobs, a cluster and a collector, each made once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/collector"))  # collecting.py

from collecting import Collector  # noqa: E402
from spark_cluster import Cluster  # noqa: E402

JOBS = int(os.environ.get("HEADWAY_SPARK_JOBS", "40"))
HUGE = 20
SEED = 11


@pytest.fixture(scope="session")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many small jobs and a few huge ones, as real journals."""
    root = tmp_path_factory.mktemp("fleet") / "jobs"
    tool = os.environ.get("HEADWAY_WRITE_FLEET", str(ROOT / "build/bin/write_fleet"))
    began = time.monotonic()
    done = subprocess.run(
        [tool, str(root), str(SEED), str(JOBS), str(HUGE)],
        capture_output=True,
        text=True,
        check=True,
    )
    print(f"{done.stdout.strip()} (seed {SEED}) in {time.monotonic() - began:.1f} s")
    return root


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    assert shutil.which("java"), "Spark needs Java: install a JRE of version 17 or later"
    made = Cluster(tmp_path_factory.mktemp("spark"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def collector(jobs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    made = Collector(tmp_path_factory.mktemp("collector"))
    made.start()
    yield made
    made.kill()
