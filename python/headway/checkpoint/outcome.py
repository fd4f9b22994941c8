"""What became of saves: their holder tells, some time after they returned."""

from __future__ import annotations

import time
import warnings
from typing import Any

from headway import _recorder as rec
from headway._recorder import core
from headway.checkpoint.cadence import Cadence
from headway.checkpoint.where import Place

# What a holder says of a save that others come after.
_GOES_ON = (". Training goes on", "; training goes on")


class Outcome:
    """Training thread only."""

    def __init__(self, trainer: Any, place: Place, cadence: Cadence) -> None:
        self._trainer, self._place, self._cadence = trainer, place, cadence
        self.durable: int | None = None  # the newest step on disk
        self.uploaded: int | None = None
        self.skipped_uploads = 0
        self.failed = 0
        self.lost: tuple[int, str] | None = None  # the last save, if it failed, and why
        self._under_way: set[int] = set()
        self._failed_in_a_row = 0

    def is_coming(self, step: int) -> bool:
        """On its way to the disk, or there."""
        return step in self._under_way or step == self.durable

    def is_busy(self) -> bool:
        """One is on its way to the disk."""
        return bool(self._under_way)

    def awaits(self, step: int) -> None:
        self._under_way.add(step)

    def got_there(self, step: int) -> None:
        # They are written in their order: for an older one nobody has to wait any more.
        self._under_way = {other for other in self._under_way if other > step}
        self.durable = max(step, self.durable or 0)
        self._failed_in_a_row = 0
        if self.lost is not None and self.lost[0] <= step:
            self.lost = None

    def was_lost(self, step: int, why: str) -> None:
        self._under_way.discard(step)
        self.failed += 1
        self.lost = step, why

    def look(self, seen: int | None) -> None:
        """Takes in the news. `seen`: the step that the training is at, if that is known."""
        for kind, step, text, _seconds, skipped in self._trainer.news():
            if kind == "uploaded":
                self.uploaded = max(step, self.uploaded or 0)
                self.skipped_uploads += skipped
            elif kind == "not_uploaded":
                if self._place.rank == 0:
                    _warn(f"not uploaded, it is tried again: {text}")
            elif kind == "durable":
                self._cadence.settled(step, True)
                self.got_there(step)
            elif step:
                # What an earlier run has left, its holder may still try to bring to the disk.
                if step in self._under_way:
                    self._cadence.settled(step, False)
                    self.was_lost(step, text)
                self._complain(step, text)
            else:  # there is no memory for it
                self.failed += 1
                if seen is not None:
                    core.checkpoint(seen, None, rec.FAILED)
                self._complain(step, text)

    def _complain(self, step: int, text: str) -> None:
        """Of a trouble that lasts, the 1st, 2nd, 4th, 8th … time; of the disk, one rank for all."""
        self._failed_in_a_row += 1
        times = self._failed_in_a_row
        if times & (times - 1) or (step and self._place.rank != 0):
            return
        what = f"step {step} did not get to the disk" if step else "no replica"
        again = f", the {times}th save in a row" if times > 2 else ""
        _warn(f"{what}{again}: {text}")

    def wait(self, timeout: float | None, seen: int | None) -> bool:
        """Until all of them are known. False: the last one is lost, or time is up."""
        end = None if timeout is None else time.monotonic() + timeout
        self.look(seen)
        while self._under_way:
            if end is not None and time.monotonic() > end:
                return False
            time.sleep(0.002)
            self.look(seen)
        return self.lost is None

    def loss(self, folder: str, in_memory: bool) -> str:
        """Of a last save that failed: what is missing, and what to do."""
        assert self.lost is not None
        step, why = self.lost
        for end in _GOES_ON:
            why = why.partition(end)[0]
        if in_memory:
            place = self._place
            again = "this script" if place.command else f"headway run --job {place.job}"
            then = (
                f"the copy in memory stays for a while: mend that, run {again} again within ten "
                "minutes, and it goes on from there"
            )
        else:
            then = "mend that and save again, or save the result elsewhere before the job ends"
        return f"{folder}: step {step} is not on disk, {but_for(self.durable)}: {why}; {then}"


def but_for(last: int | None) -> str:
    return "nothing is" if last is None else f"the last that is, is step {last}"


def _warn(text: str) -> None:
    warnings.warn(f"headway: {text}", RuntimeWarning, stacklevel=5)
