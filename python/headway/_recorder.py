"""The recorder as Python sees it: `core`, the compiled module or, where it cannot be loaded, a
stand-in that does nothing; and the numbers of the C ABI (include/headway/headway.h)."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

IMPORTS = 1
DEVICE_INIT = 2
PROCESS_GROUP_INIT = 3
PREPROC_CREATION = 4
TRAIN_MODULE_CREATION = 5
INIT_PLUGINS = 6
PRE_TRAIN = 7
GET_FIRST_BATCH_DATA = 8
RESTORE = 9
COMPILE = 10
CHECKPOINT_BLOCKED = 11
DATA_WAIT = 12
EVAL = 13

MARKS = {
    "submitted": 1,
    "resources_available": 2,
    "allocated": 3,
    "launcher_start": 4,
    "trainer_start": 5,
    "preempt_notice": 6,
    "failure": 7,
    "exit": 8,
    "job_end": 9,
}
ORIGIN_USER = 3
ORIGIN_UNKNOWN = 4
STAGED = 1
DURABLE = 2
FAILED = 4
RANK_UNKNOWN = 0xFFFFFFFF
RANK_AGENT = 0xFFFFFFFF


class _NullPhase:
    """A span that nobody records."""

    id = 0

    def __init__(self, phase: int = 0) -> None:
        pass

    def __enter__(self) -> _NullPhase:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class _NullRunState:
    """The position, where the compiled one cannot be loaded."""

    def __new__(cls) -> _NullRunState:
        self = super().__new__(cls)
        self.step = self.per_step = 0
        self.data: int | None = 0
        self.explicit = False
        return self


class _NullCore:
    """Every call of the compiled module, doing nothing. `init` says that it could not (ENOSYS)."""

    Phase = _NullPhase
    RunState = _NullRunState

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing

    def init(self, **_: object) -> int:
        return 38

    def stats(self) -> dict[str, Any]:
        zero = dict.fromkeys(("records", "dropped", "bytes", "names", "names_dropped"), 0)
        return {"active": False, **zero}

    def active(self) -> bool:
        return False

    def journal_path(self) -> str:
        return ""


def _nothing(*_: object) -> int:
    return 0


load_error = ""  # why `core` is the stand-in


def _load() -> Any:
    global load_error
    try:
        compiled = importlib.import_module("headway._core")
    except Exception as error:  # a missing or foreign binary must not stop a trainer
        python = ".".join(map(str, sys.version_info[:2]))
        load_error = f"no recorder for Python {python} ({error})"
        return _NullCore()
    # Python from 3.12 on warns of a fork in a process with several threads; not because of ours.
    os.register_at_fork(before=compiled.pause, after_in_parent=compiled.resume)
    return compiled


core = _load()
