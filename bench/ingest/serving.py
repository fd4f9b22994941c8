"""A collector under load: `headway serve` on a store of its own, load_fleet, and what was kept."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
HEADWAY = os.environ.get("HEADWAY_BIN", str(BUILD / "headway"))
LOAD = BUILD / "bin/load_fleet"


class Served:
    """`store`: a database's URL; else a SQLite file that goes away."""

    def __init__(self, store: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hw-ingest-"))
        self.store = store or str(self.folder / "store.db")
        self.log = self.folder / "log"
        self.port = 0
        self.start()

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [HEADWAY, "serve", "--store", self.store] + ["--listen", f"127.0.0.1:{self.port}"],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
        assert found, f"{line!r}: {self.log.read_text()}"
        self.port = int(found[1])

    def kill_and_start(self) -> None:
        """As if it had crashed: only what is on the disk is left."""
        self.process.kill()
        self.process.wait()
        self.start()

    def memory_mib(self) -> float:
        """The most that it ever had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s*(\d+) kB", status)
        assert found, status
        return int(found[1]) / 1024

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path: str) -> Any:
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, timeout=300) as answer:
            return json.load(answer)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def words_of(options: dict[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def send(port: int, shape: dict[str, Any], *words: str) -> dict[str, Any]:
    """What load_fleet saw. It fails where something was refused, or acknowledged and not kept."""
    done = subprocess.run(
        [LOAD, "send", "--port", str(port), *words_of(shape), *words],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return json.loads(done.stdout)


def missing(served: Served, shape: dict[str, Any]) -> list[str]:
    """The jobs of which the collector says something else than a report on the same journals."""
    folder = served.folder / "journals"
    subprocess.run([LOAD, "journals", str(folder), *words_of(shape)], check=True)
    wrong = []
    for path in sorted(folder.iterdir()):
        done = subprocess.run(
            [HEADWAY, "report", path.name, "--dir", str(folder), "--json"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        if served.get(f"/api/v1/jobs/{path.name}/report") != json.loads(done.stdout):
            wrong.append(path.name)
    shutil.rmtree(folder)
    return wrong
