"""One Slurm for all tests of this folder; without Slurm they are skipped, loudly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster, Job, missing_programs

ROOT = Path(__file__).parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build" / "headway")).absolute()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if missing := missing_programs():
        line = f"SLURM IS NOT INSTALLED ({', '.join(missing)}): tests/slurm DID NOT RUN"
        warnings.warn(line, stacklevel=1)
        pytest.skip(line)
    assert HEADWAY.exists(), f"{HEADWAY} is not built; build it or set HEADWAY_BIN"
    # Not below pytest's own folder: the socket's path must be short.
    with tempfile.TemporaryDirectory(prefix="hw-slurm-") as folder:
        Path(folder).chmod(0o755)  # munged insists
        made = Cluster(Path(folder))
        try:
            made.start()
            yield made
        finally:
            made.stop()


class Runner:
    """Submits `headway run` and reads what it left behind."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.jobs: list[Job] = []

    def submit(self, command: str, *options: str, hook: bool = False, by: str = "exec") -> Job:
        """`by`: what stands before `headway`, exec or srun."""
        python_dir = ROOT / "build" / "python" if hook else self.folder / "no-hook"
        python_dir = Path(os.environ.get("HEADWAY_PYTHON", python_dir)) if hook else python_dir
        script = f"""
export HEADWAY_CACHE=off
export HEADWAY_DIR={self.folder}/jobs HEADWAY_PYTHON_DIR={python_dir} PYTHON={sys.executable}
cd {self.folder}
{by} {HEADWAY} run --python {sys.executable} --job j {command}
"""
        job = self.cluster.submit(script, *options)
        self.jobs.append(job)
        return job

    def script(self, text: str) -> str:
        path = self.folder / "train.py"
        path.write_text(text)
        return str(path)

    def report(self) -> dict:
        done = subprocess.run(
            [HEADWAY, "report", "j", "--json", "--dir", self.folder / "jobs"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def runner(cluster: Cluster, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(cluster, tmp_path)
    yield made
    for job in made.jobs:
        cluster.ask("scancel", job.number)
        job.wait_over()
