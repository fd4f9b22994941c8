"""A fleet that loads a collector (bench/ingest/load.cc), and whether all of it was kept."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from collecting import HEADWAY, Collector

LOAD = Path(HEADWAY).resolve().parent / "bin/load_fleet"
Shape = dict[str, int | str]


def words_of(shape: Shape) -> list[str]:
    return [word for name, value in shape.items() for word in (f"--{name}", str(value))]


class Load:
    """load_fleet, sending; `shape` as its options."""

    def __init__(self, collector: Collector, shape: Shape, *words: str) -> None:
        self.shape = shape
        self.process = subprocess.Popen(
            [LOAD, "send", "--port", str(collector.port), *words_of(shape), *words],
            stdout=subprocess.PIPE,
            text=True,
        )

    def result(self) -> dict[str, Any]:
        """What it saw. Nothing that was acknowledged turned out to be missing."""
        output, _ = self.process.communicate(timeout=900)
        told = json.loads(output)
        assert self.process.returncode == 0 and told["gaps"] == 0 and told["refused"] == 0, told
        return told


def write_journals(shape: Shape, folder: Path) -> list[str]:
    """The same journals as files; the jobs' names."""
    subprocess.run([LOAD, "journals", str(folder), *words_of(shape)], check=True)
    return sorted(path.name for path in folder.iterdir())


def local_report(folder: Path, job: str) -> dict[str, Any]:
    done = subprocess.run(
        [HEADWAY, "report", job, "--dir", str(folder), "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def assert_all_told(collector: Collector, shape: Shape, folder: Path, token: str = "") -> None:
    """Every job is told as a report on the same journals tells it."""
    for job in write_journals(shape, folder):
        told = collector.get(f"/api/v1/jobs/{job}/report", token)
        wanted = local_report(folder, job)
        differs = {name: (told.get(name), wanted.get(name)) for name in told | wanted}
        assert told == wanted, (
            job,
            {name: two for name, two in differs.items() if two[0] != two[1]},
        )


def memory_mib(collector: Collector) -> int:
    """The most that the collector ever had."""
    assert collector.process is not None
    status = Path(f"/proc/{collector.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024
