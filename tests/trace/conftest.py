from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HEADWAY = os.environ.get("HEADWAY_BIN", "build/headway")


@pytest.fixture
def headway() -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [HEADWAY, *map(str, arguments)], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    return run


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., Path]:
    """Runs a script with TORCH_TRACE set: the folder of its log."""

    def run(name: str, script: str, **variables: str) -> Path:
        folder = tmp_path / name
        environment = {
            **os.environ,
            "TORCH_TRACE": str(folder),
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return folder

    return run
