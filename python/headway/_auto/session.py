"""What the parts of the hook share, and the one place that writes lane 0 in order.

Some records are held back: the end of a start-up stage (so that a thousand constructions in a row
are one span) and what an autograd thread did while it blocked the training thread. `flush` writes
them, with their own time, before the next record of lane 0: the parts of the hook call it, and the
recorder does (python/src/held.h) before it takes what the script or a checkpointer records.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from headway._recorder import COMPILE, core
from headway._run import run

LATE_MAX = 64  # spans of other threads held back; more are dropped


class Session:
    """The hook of one rank's process. Training thread, except where a method says otherwise."""

    def __init__(self) -> None:
        self.run = run
        self.on = False
        self.pid = 0
        self.last_tick = 0  # of lane 0, while start-up lasts
        self.held_end: tuple[int, int] | None = None  # (phase, ticks)
        self.late: list[tuple[int, int]] = []  # compile spans of other threads (begin, end)
        self.ticks_per_ms = 1_000_000
        self.warned = False
        self.at_exit: list[Callable[[], None]] = []

    def begin(self) -> None:
        """The journal is open: the hook measures from here on."""
        self.pid = os.getpid()
        now_ns = time.monotonic_ns()
        after_1_s = core.ticks_from_monotonic_ns(now_ns + 1_000_000_000)
        self.ticks_per_ms = max(1, (after_1_s - core.ticks_from_monotonic_ns(now_ns)) // 1000)
        core.on_held(self.flush)
        self.on = True
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """A child is not the rank: it loads data or does the script's own errands."""
        self.on = False
        core.hook_enable(False)

    def hold_end(self, phase: int, ticks: int) -> None:
        """Ends a span at `ticks`, unless the same one resumes at once."""
        self.held_end = (phase, ticks)
        self.last_tick = ticks
        core.hold(True)

    def resume_held(self, phase: int, ticks: int) -> bool:
        """True if the span of `phase` that just ended goes on."""
        held = self.held_end
        if held is None or held[0] != phase or ticks - held[1] > self.ticks_per_ms:
            return False
        self.held_end = None
        return True

    def late_compile(self, begin: int, end: int) -> None:
        """Any thread: the training thread was blocked by a compilation elsewhere."""
        if len(self.late) < LATE_MAX:
            self.late.append((begin, end))
            core.hold(True)

    def flush(self) -> None:
        """Writes what is held back."""
        core.hold(False)  # first: another thread may add to it meanwhile
        if self.held_end is not None:
            phase, ticks = self.held_end
            self.held_end = None
            core.end_at(phase, ticks)
        while self.late:
            begin, end = self.late.pop(0)
            core.begin_at(COMPILE, begin)
            core.end_at(COMPILE, end)
            self.last_tick = end

    def warn(self, problem: str, lost: str) -> None:
        """One line, once in the process's life."""
        if self.warned:
            return
        self.warned = True
        try:
            print(f"headway: {problem}; not measuring {lost}", file=sys.stderr, flush=True)
        except Exception:
            pass

    def stop(self, problem: str, lost: str = "the rest of this process") -> None:
        """A fault of our own: the script goes on without us."""
        self.on = False
        core.hook_enable(False)
        self.warn(problem, lost)

    def callback_failed(self, kind: Any, error: Any) -> None:
        """From Around: a callback raised."""
        self.stop(f"{getattr(kind, '__name__', kind)} in the hook: {error}")


session = Session()
