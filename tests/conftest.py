"""Which tests may run beside each other, and which compiler torch finds."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

# What one test has compiled must not make another one warm; those about it name a place.
os.environ["HEADWAY_CACHE"] = "off"

COMPILERS = Path(__file__).resolve().parents[1] / "build/test-compiler"


def pytest_configure(config: pytest.Config) -> None:
    """A compiler that remembers, first on PATH; `./dev test --full` has the plain one."""
    first_on_path = f"{COMPILERS}{os.pathsep}"
    if os.environ.get("HEADWAY_TEST_COLD") or os.environ["PATH"].startswith(first_on_path):
        return
    COMPILERS.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (COMPILERS / "g++").symlink_to(
            COMPILERS.parents[1] / "tests/shared/remembering_compiler.py"
        )
    os.environ["PATH"] = first_on_path + os.environ["PATH"]


# One Slurm controller and one set of network namespaces for a machine.
ALONE = {"slurm", "nodes"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file's tests share what it has made: they go to one worker. So do those of `ALONE`."""
    for item in items:
        folder = Path(item.path).parent.name
        group = "machine" if folder in ALONE else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
