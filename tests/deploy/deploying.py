"""What the tests of this folder share: the programs that they call."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))
TOOL = HEADWAY.parent / "bin/deploy_tool"
DEPLOY = ROOT / "deploy"


def installed(program: str) -> str:
    """Debian's package `prometheus` has prometheus and promtool."""
    found = shutil.which(program)
    assert found, f"no {program} here: ./dev setup installs it"
    return found


def promtool(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [installed("promtool"), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True)


@functools.cache
def page(form: str) -> str:
    """A page of /metrics of a made-up fleet."""
    done = subprocess.run([TOOL, "metrics", form], check=True, capture_output=True, text=True)
    return done.stdout
