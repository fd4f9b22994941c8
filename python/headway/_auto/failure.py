"""Records the exception that ends the process, and otherwise stays out of its way: the hook that
was there prints it, as ever."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from headway import _recorder as rec
from headway._auto.session import session
from headway._recorder import core

REASON_CHARS_MAX = 200  # in the journal
MESSAGE_CHARS_MAX = 4096  # in the error file, which the agent and `headway why` judge by
STACK_CHARS_MAX = 64 * 1024
INTERRUPTED_EXIT_CODE = 130
# Errors of devices, links and disks reach Python as RuntimeError, or inside another one's text.
MACHINE = re.compile(
    r"CUDA error|CUDNN|CUBLAS|NCCL|HIP error|[Gg]loo|Connection (reset|refused|closed|timed out)"
    r"|ECC|[Tt]imed out|Input/output error|No space left|Stale file handle|OSError"
)

_seen = False


def install(claim: Callable[[], bool]) -> None:
    """Puts ours in front of sys.excepthook. A script that replaces it is still covered, by
    `record_unseen`."""
    previous = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        try:
            if claim():
                _record(kind, error)
        except Exception:
            pass
        previous(kind, error, trace)

    sys.excepthook = excepthook


def record_unseen() -> None:
    """At exit: an uncaught exception that our excepthook was not shown."""
    error = getattr(sys, "last_value", None)
    if error is not None and not _seen:
        _record(type(error), error)


def _record(kind: type[BaseException], error: BaseException) -> None:
    global _seen
    if _seen or issubclass(kind, SystemExit):
        return
    _seen = True
    session.flush()
    exit_code = INTERRUPTED_EXIT_CODE if issubclass(kind, KeyboardInterrupt) else 1
    text = _describe(kind, error)
    origin = _origin(kind, text)
    reason = core.name_id(_shortened(text))
    core.mark_end(rec.MARKS["failure"], exit_code, 0, origin, _rank(), reason)
    _write_error_file(error, text)


def _write_error_file(error: BaseException, text: str) -> None:
    """As torch's @record would, for scripts without it: the agent judges by it."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path or os.path.exists(path):
        return
    stack = "".join(traceback.format_exception(error))[-STACK_CHARS_MAX:]
    content = {
        "message": {
            "message": text,
            "extraInfo": {"py_callstack": stack, "timestamp": str(int(time.time()))},
        }
    }
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            json.dump(content, file)
    except (OSError, ValueError):
        pass


def _origin(kind: type[BaseException], text: str) -> int:
    """The script's own fault, where the exception can hardly mean anything else."""
    if issubclass(kind, FileNotFoundError):
        return rec.ORIGIN_USER
    if issubclass(kind, (OSError, MemoryError)) or MACHINE.search(text):
        return rec.ORIGIN_UNKNOWN
    return rec.ORIGIN_USER


def _describe(kind: type[BaseException], error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any("Traceback" in line for line in lines[1:]):  # of a worker: its last line is the cause
        lines = [lines[0], lines[-1]]
    line = " ".join(" ".join(lines).split())
    words = f"{kind.__name__}: {line}" if line else kind.__name__
    return words[:MESSAGE_CHARS_MAX].encode("utf-8", "replace").decode()


def _shortened(text: str) -> str:
    """Without its middle where it is long: a message ends with what to do."""
    if len(text) <= REASON_CHARS_MAX:
        return text
    gap = " … "
    head = (REASON_CHARS_MAX - len(gap)) * 2 // 5
    return text[:head] + gap + text[head + len(gap) - REASON_CHARS_MAX :]


def _rank() -> int:
    """This process's rank, by torchrun's contract."""
    rank = os.environ.get("RANK", "0")
    return int(rank) if rank.isdecimal() else rec.RANK_UNKNOWN
