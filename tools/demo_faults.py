"""Faults for ./dev demo: a job's ranks are watched through the journals that they write, and killed
from outside after a given step. The jobs know nothing of it."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
from dataclasses import dataclass
from pathlib import Path

# docs/formats/journal.md
HEADER_BYTES = 4096
PID_OFFSET = 44
RECORD = struct.Struct("<QqqHHI")
STEP_END = 5


@dataclass(frozen=True)
class Fault:
    after_step: int
    ranks: tuple[int, ...]

    def __str__(self) -> str:
        who = f"rank {self.ranks[0]}" if len(self.ranks) == 1 else "all ranks"
        return f"kill -9 of {who} after step {self.after_step}"


class Journal:
    """One rank's, read while the rank writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last_step = 0
        self._offset = HEADER_BYTES

    def look(self) -> int:
        """The last step that is over; 0 when there is none yet."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                body = file.read()
        except FileNotFoundError:
            return 0
        for _, step, _, _, _, commit in RECORD.iter_unpack(body[: len(body) // 32 * 32]):
            if commit == 0:
                break
            self._offset += RECORD.size
            if commit & 0xFF == STEP_END:
                self.last_step = step
        return self.last_step

    def pid(self) -> int:
        with self.path.open("rb") as file:
            file.seek(PID_OFFSET)
            (pid,) = struct.unpack("<I", file.read(4))
        return pid


class Watch:
    """A job's newest attempt: how far it is, and its end when the next fault is due."""

    def __init__(self, folder: Path, ranks: int, faults: list[Fault]) -> None:
        self.folder, self.ranks = folder, ranks
        self.due = list(faults)
        self.attempt = 0
        self.step = 0
        self._struck = 0  # the attempt that the last fault ended
        self._journals: list[Journal] = []

    def look(self) -> Fault | None:
        """The fault that was injected just now."""
        numbers = [int(each.name) for each in self.folder.glob("[0-9]*") if each.name.isdigit()]
        newest = max(numbers, default=0)
        if newest > self.attempt:
            self.attempt = newest
            self._journals = [
                Journal(self.folder / str(newest) / f"rank-{rank:05d}.hwj")
                for rank in range(self.ranks)
            ]
        if not self._journals:
            return None
        self.step = min(journal.look() for journal in self._journals)
        if not self.due or self.attempt == self._struck or self.step < self.due[0].after_step:
            return None
        fault = self.due.pop(0)
        for pid in [self._journals[rank].pid() for rank in fault.ranks]:
            with contextlib.suppress(ProcessLookupError):  # the launcher was faster
                os.kill(pid, signal.SIGKILL)
        self._struck = self.attempt
        return fault
