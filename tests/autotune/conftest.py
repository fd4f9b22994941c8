from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import triton_environment

HEADWAY = os.environ.get("HEADWAY_BIN", "build/headway")


@pytest.fixture
def headway(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(
        *arguments: object, code: int = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [HEADWAY, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=900,
            env={**os.environ, "HEADWAY_DIR": str(tmp_path / "jobs"), **variables},
        )
        assert done.returncode == code, (done.returncode, done.stdout[-3000:], done.stderr[-3000:])
        return done

    return run


@pytest.fixture(scope="session")
def triton_python() -> str:
    try:
        return triton_environment.interpreter()
    except triton_environment.Missing as problem:
        pytest.skip(f"no environment with Triton: {problem}")
