"""The binary under test, and how the tests call it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))

Ckpt = Callable[..., subprocess.CompletedProcess[str]]
