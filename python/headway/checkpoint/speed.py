"""Whether saves by rows are worth it, from what they turn out to take: where nearly all rows change
from save to save, copying everything is quicker than looking for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

SAVES = 4  # in a row, after which it is decided
SLOWER = 1.25  # the first copy had the machine to itself, rows share it with who writes them
SLOWER_S = 0.05  # and less than that is not worth another way
AGAIN = 64  # saves of everything until rows are tried again, and then twice as many


class Save(NamedTuple):
    """By rows, as far as that was possible."""

    block_s: float
    whole: bool  # so much had changed that everything was copied, after rows had been looked for


def rows_are_slower(saves: Sequence[Save], whole_s: float) -> bool:
    """`whole_s`: what a copy of everything takes at best."""
    limit_s = SLOWER * whole_s + SLOWER_S
    lost = [one.whole or one.block_s > limit_s for one in saves]
    return len(lost) >= SAVES and all(lost)


class Speed:
    """Of one rank's saves. Neither what is measured nor what is counted need be the same on all
    ranks: the layout of one may change alone. So the first rank's counts decide, and only what is
    decided (`left_rows`) is the same everywhere."""

    def __init__(self) -> None:
        self.whole_s = math.inf
        self.wholes = 0  # copies of everything since the layout is known
        self.left_rows = False  # everything is copied, because that was quicker
        self.told = False
        self._saves: list[Save] = []
        self._fulls = 0
        self._again = AGAIN

    def planned(self) -> None:
        """What another layout took says nothing of this one."""
        self.whole_s = math.inf
        self.wholes = 0
        self._saves = []

    def saved(self, planned_s: float, copied_s: float, whole: bool) -> None:
        """In the mode `rows`."""
        if whole:
            self.whole_s = min(self.whole_s, copied_s)
            self.wholes += 1
        if not whole or self.wholes > 1:  # the first has nothing that rows could be put into
            self._saves.append(Save(planned_s + copied_s, whole))

    def says_leave(self) -> bool:
        """Should everything be copied? Of the saves since it was said last, once they suffice."""
        if self.left_rows or len(self._saves) < SAVES:
            return False
        saves, self._saves = self._saves, []
        return rows_are_slower(saves, self.whole_s)

    def leave_rows(self) -> None:
        self.left_rows = True
        self._fulls = 0

    def says_again(self) -> bool:
        """Before each save after rows were left: is it time to try them again?"""
        if self.left_rows:
            self._fulls += 1
        return self.left_rows and self._fulls >= self._again

    def try_rows(self) -> None:
        self.left_rows = False
        self._again *= 2
