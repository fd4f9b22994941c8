"""The program under test, and one way to call it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway")).absolute()
TIMEOUT_S = 120


def run_headway(
    *arguments: object, code: int = 0, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """It must end with this code. `env`: all of its environment."""
    assert HEADWAY.exists(), f"{HEADWAY} is not built; build it or set HEADWAY_BIN"
    done = subprocess.run(
        [str(HEADWAY), *map(str, arguments)],
        env=env,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == code, (arguments, done)
    return done
