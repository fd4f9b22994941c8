"""Which tests may run beside each other, and which compiler torch finds."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

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


def group_of(nodeid: str) -> str:
    """A file's tests share what it has made: they go to one worker. So do those of `ALONE`."""
    file = nodeid.partition("::")[0]
    return "machine" if Path(file).parent.name in ALONE else file


# By a scheduler and not by marks: xdist 3.8 writes a mark's group where pytest 9.2 does not look.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return ByGroup(config, log)
