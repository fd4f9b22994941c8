"""Are parameters that all ranks should have alike really alike? Only one rank's are stored.

Ranks compare a few bytes of each tensor, now and then, with the word that they exchange before a
save anyway: nothing is sent for it. Parameters that were never made equal, or whose gradients are
not reduced, differ everywhere at once, so few bytes do; which of them are looked at moves on.
"""

from __future__ import annotations

import warnings
import zlib
from typing import Any

from headway.checkpoint.agree import Group
from headway.checkpoint.tensors import Placed

LOOK_EVERY = 8  # saves, after the first
BYTES_MAX = 256 << 10  # looked at in a save
BYTES_MIN = 64  # of a tensor
NAMED_MAX = 3


class Sameness:
    def __init__(self, group: Group) -> None:
        self._group = group
        self._saves = 0
        self._sums: dict[str, int] = {}
        self._told = group.alone

    @property
    def digest(self) -> int:
        """Of the last save; 0 where it was not looked at."""
        return zlib.crc32(repr(sorted(self._sums.items())).encode()) if self._sums else 0

    def look(self, slot: Any, tensors: list[Placed], places: list[tuple[int, int]]) -> None:
        """At what has just been saved. All ranks have made the same number of saves."""
        self._sums = {}
        self._saves += 1
        if self._told or self._saves % LOOK_EVERY != 1:
            return
        # Of a table only some rows are there, and not always the same.
        shared = [
            (p, place)
            for p, place in zip(tensors, places, strict=True)
            if p.replicated and place != (0, 0)
        ]
        if not shared:
            return
        width = max(BYTES_MIN, BYTES_MAX // len(shared))
        memory = memoryview(slot)
        for placed, (begin, end) in shared:
            windows = max(1, (end - begin) // width)
            at = begin + (self._saves // LOOK_EVERY) % windows * width
            self._sums[placed.piece.name] = zlib.crc32(memory[at : min(at + width, end)])

    def differ(self) -> None:
        """The ranks' digests are not the same: says where, once. All ranks call it."""
        if self._told:
            return
        self._told = True
        said = self._group.gather(self._sums)
        names = [n for n in said[0] if any(one.get(n) != said[0][n] for one in said[1:])]
        if not names:
            names = sorted({name for one in said for name in one} - set(said[0]))
        more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
        warnings.warn(
            f"headway: {', '.join(names[:NAMED_MAX])}{more}: not the same on all ranks, and saved "
            "is one rank's: after a restore all have that. Let DistributedDataParallel have the "
            "model, make what is each rank's own a buffer or a DTensor, or keep it in values",
            RuntimeWarning,
            stacklevel=6,
        )
