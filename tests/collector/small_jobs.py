"""Jobs of a moment, without torch: what a collector's tests send when it does not matter what."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from collecting import HEADWAY

SCRIPT = """
import sys, time
import headway as hw
hw.init()
state = {"step": 0}
end = time.monotonic() + float(sys.argv[1])
def batches():
    while time.monotonic() < end:
        yield 0
for _ in hw.steps(batches(), state):
    time.sleep(0.002)
"""


def environment(folder: Path) -> dict[str, str]:
    return dict(os.environ, HEADWAY_DIR=str(folder / "jobs"))


def start_small(
    folder: Path, job: str, url: str = "off", seconds: float = 0.3, *words: str
) -> subprocess.Popen[str]:
    """`headway run`, which sends to `url`."""
    script = folder / "small.py"
    if not script.exists():  # another one may just be reading it
        script.write_text(SCRIPT)
    return subprocess.Popen(
        [HEADWAY, "run", "--job", job, "--collector", url, *words, str(script), str(seconds)],
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return output


def run_small(folder: Path, job: str, url: str = "off", seconds: float = 0.3, *words: str) -> str:
    """What it said. All of it has arrived, unless that tells otherwise."""
    return finish(start_small(folder, job, url, seconds, *words))


def report(folder: Path, job: str) -> dict[str, Any]:
    done = subprocess.run(
        [HEADWAY, "report", job, "--json"],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    return without_paths(json.loads(done.stdout))


def without_paths(told: dict[str, Any]) -> dict[str, Any]:
    """Where a failed rank's output and its journal lie is known to its machine alone."""
    for row in told.get("failures", []):
        row.pop("log", None)
    coverage = told.get("coverage", {})
    if "notes" in coverage:
        coverage["notes"] = [re.sub(r"^/.*/(?=[^/]*\.hwj: )", "", x) for x in coverage["notes"]]
    return told
