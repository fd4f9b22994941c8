"""The time of a save, by which states are told to be newer: it rises from one save to the next, and
from what a job went on from, also where the machine's clock is set back."""

from __future__ import annotations

import time


class Clock:
    def __init__(self) -> None:
        self._last_ns = 0

    def now_ns(self) -> int:
        self._last_ns = max(time.time_ns(), self._last_ns + 1)
        return self._last_ns

    def is_past(self, time_ns: int) -> None:
        """Whatever comes now is newer than that."""
        self._last_ns = max(time_ns, self._last_ns)
