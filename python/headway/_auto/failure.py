"""Records the exception that ends the process, and otherwise stays out of its way: the hook that
was there prints it, as ever."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from headway import _recorder as rec
from headway._auto.session import session
from headway._recorder import core

REASON_CHARS_MAX = 200
INTERRUPTED_EXIT_CODE = 130

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
    reason = core.name_id(_describe(kind, error))
    rank = _rank()
    core.mark_end(rec.MARKS["failure"], exit_code, 0, rec.ORIGIN_USER, rank, reason)


def _describe(kind: type[BaseException], error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    line = " ".join(text.split())
    words = f"{kind.__name__}: {line}" if line else kind.__name__
    return words[:REASON_CHARS_MAX].encode("utf-8", "replace").decode()


def _rank() -> int:
    """This process's rank, by torchrun's contract."""
    rank = os.environ.get("RANK", "0")
    return int(rank) if rank.isdecimal() else rec.RANK_UNKNOWN
