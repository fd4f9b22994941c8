"""When the accelerator finished each step.

An event is recorded on the device's queue behind each step, and asked later, in the following
steps, whether it has passed: never waited for. Its time on the host's clock follows from the time
elapsed since a base event: what is seen of an event bounds the base's own time from both sides
(it cannot have passed before it was recorded, nor after it was seen to have), and the bounds of all
events so far are combined."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

PENDING_MAX = 64  # steps in flight; beyond this a step goes without its device time
BASE_MS_MAX = 600_000.0  # a new base after this, for the precision of the elapsed time


class Event(Protocol):
    def record(self) -> None: ...
    def query(self) -> bool: ...
    def elapsed_time(self, other: Any) -> float: ...


class DeviceSteps:
    """Training thread only."""

    def __init__(
        self,
        make_event: Callable[[], Event],
        now: Callable[[], int],
        ticks_per_ms: int,
        done: Callable[[int, int], None],
    ) -> None:
        self._make_event = make_event
        self._now = now
        self._ticks_per_ms = ticks_per_ms
        self._done = done
        self._pending: deque[tuple[int, Event, int]] = deque()
        self._base: Event | None = None
        self._base_low = 0
        self._base_high = 0
        self.skipped = 0

    def _rebase(self, event: Event, recorded: int, seen: int) -> None:
        self._base, self._base_low, self._base_high = event, recorded, seen

    def after_step(self, step: int) -> None:
        """Puts an event behind `step` and looks which earlier ones have passed."""
        self.poll()
        if len(self._pending) >= PENDING_MAX:
            self.skipped += 1
            return
        event = self._make_event()
        event.record()
        self._pending.append((step, event, self._now()))

    def poll(self) -> None:
        while self._pending and self._pending[0][1].query():
            step, event, recorded = self._pending.popleft()
            self._done(step, self._passed_at(event, recorded, self._now()))

    def _passed_at(self, event: Event, recorded: int, seen: int) -> int:
        if self._base is None:
            self._rebase(event, recorded, seen)
            return seen
        elapsed_ms = self._base.elapsed_time(event)
        elapsed = int(elapsed_ms * self._ticks_per_ms)
        self._base_low = max(self._base_low, recorded - elapsed)
        self._base_high = max(self._base_low, min(self._base_high, seen - elapsed))
        passed = min(max(self._base_high + elapsed, recorded), seen)
        if elapsed_ms > BASE_MS_MAX:
            self._rebase(event, recorded, passed)
        return passed
