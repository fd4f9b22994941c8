"""What the tests of this folder share: the programs that they call."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))
TOOL = HEADWAY.parent / "bin/deploy_tool"
DEPLOY = ROOT / "deploy"


def promtool(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Debian's `prometheus` has it; where it is missing, what it would check is skipped."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not here")
    return subprocess.run([program, *arguments], input=text, capture_output=True, text=True)


@functools.cache
def page(form: str) -> str:
    """A page of /metrics of a made-up fleet."""
    done = subprocess.run([TOOL, "metrics", form], check=True, capture_output=True, text=True)
    return done.stdout
