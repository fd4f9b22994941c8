"""The ways to stage a state: all of it into the replica (`full`), of tables only the rows that
changed (`rows`), or past it straight to the disk (`stream`). All ranks go the same way at each
save, and may take another at any time."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from headway import _replica
from headway._recorder import core
from headway.checkpoint.agree import Group
from headway.checkpoint.errors import CheckpointUsageError
from headway.checkpoint.rows import RowTracker, all_tables, no_table, passed_over
from headway.checkpoint.speed import Speed
from headway.checkpoint.tensors import Placed, size_text
from headway.checkpoint.where import Place

MODES = ("auto", "full", "rows", "stream")
IMAGES_FULL = 2  # one that is written to disk, one to write into
IMAGES_OFTEN = 3  # and the newest, which is kept until the next is whole
IMAGES_ROWS = 1  # into which the rows go
ROWS_SHARE = 0.5  # of all bytes, from which on tables are worth the trouble
ROWS_MEMORY = 1.5  # times the state's size: the image, and rows on their way into it


class Begun(NamedTuple):
    """A slot to fill, where each tensor goes in it, and how."""

    slot: Any
    places: list[tuple[int, int]]
    fill: Callable[..., None]


class Staging:
    """`mode` is what was asked for until the first plan, and then what is done."""

    def __init__(
        self,
        mode: str,
        place: Place,
        trainer: Any,
        group: Group,
        *,
        model: torch.nn.Module | None,
        optimizer: Any,
        tables: Sequence[torch.Tensor],
        often: bool,
    ) -> None:
        self.mode = ""
        self._images = IMAGES_OFTEN if often else IMAGES_FULL
        self._place = place
        self._trainer = trainer
        self._group = group
        self._of = (model, tables, optimizer)
        self._places: list[tuple[int, int]] = []
        self._rows: RowTracker | None = None
        self._not_by_rows = ""  # why tables that there are, are saved whole
        self._told = False
        self._speed: Speed | None = None  # where nobody has said which way to go
        self.switch(mode)

    def switch(self, mode: str) -> None:
        """From the next save on."""
        if mode not in MODES:
            raise CheckpointUsageError(f"checkpointer: staging={mode!r}; one of {', '.join(MODES)}")
        self._speed = Speed() if mode == "auto" else None
        self._turn(mode)

    def _turn(self, mode: str) -> None:
        self.close()
        self.mode = mode
        self._not_by_rows = ""
        if mode not in ("auto", "rows"):
            return
        problem = None
        if self._place.local_world_size != self._place.world_size:
            problem = "checkpointer: a job on several machines cannot save by rows yet"
        try:
            self._rows = RowTracker(*self._of)
        except CheckpointUsageError as error:
            problem = str(error)
        if self._rows is not None and not self._rows.tables:
            problem = f"checkpointer: no table to save by rows: {no_table(self._of[0])}"
        self._explain(problem)
        if not self._group.all(problem is None):
            self.close()
            if mode == "rows":
                raise CheckpointUsageError(
                    problem or "checkpointer: another rank cannot save by rows"
                )

    def _explain(self, problem: str | None) -> None:
        """Nobody who has tables should have to guess why all of them are copied."""
        model, named, _ = self._of
        if left_out := passed_over(model, named):
            more = f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else ""
            self._not_by_rows = (
                f"{left_out[0]}{more}; by rows only plain tensors in the processor's memory are"
            )
        elif problem is not None and all_tables(model, named):
            self._not_by_rows = problem.removeprefix("checkpointer: ")

    def _tell_of_tables(self, all_bytes: int) -> None:
        """Once, and where it makes a difference: somebody asked, or they are most of it."""
        model, named, _ = self._of
        tables = [getattr(table, "_local_tensor", table) for table in all_tables(model, named)]
        size = sum(table.numel() * table.element_size() for table in tables)
        matters = bool(named) or size > ROWS_SHARE * all_bytes or self.mode == "rows"
        if not matters:
            self._not_by_rows = ""
        if not self._not_by_rows or self._told or self._place.rank != 0:
            return
        self._told = True
        warnings.warn(
            f"headway: tables are saved whole each time: {self._not_by_rows}",
            RuntimeWarning,
            stacklevel=5,
        )

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()
        self._rows = None

    def touched(self, parameter: torch.Tensor, ids: torch.Tensor | Sequence[int]) -> None:
        if self._rows is not None:
            self._rows.touched(parameter, ids)

    def plan(self, tensors: list[Placed], pieces: list[Any]) -> None:
        """The state's layout from now on."""
        if self.mode == "auto":
            self.mode = self._choose(tensors)
        if self.mode != "rows":
            self.close()
        self._tell_of_tables(sum(one.local.numel() * one.local.element_size() for one in tensors))
        if self._place.rank == 0:
            core.attr("checkpoints", self._cost(tensors))
            core.attr("lever.replica", "0" if self.mode == "stream" else "1")
        if self.mode == "stream":
            return
        if self._speed is not None:
            self._speed.planned()
        images = IMAGES_ROWS if self.mode == "rows" else self._images
        self._places = self._trainer.plan(pieces, images)
        if self._rows is not None:
            self._trainer.plan_rows(self._rows.pieces(tensors), True)  # memory is asked for

    def _cost(self, tensors: list[Placed]) -> str:
        """For the report: how it is saved, and the memory that this takes."""
        size = sum(one.local.numel() * one.local.element_size() for one in tensors)
        if self.mode == "stream":
            return "stream, no replica in memory"
        images = "1 x" if self.mode == "rows" else f"{self._images} x"
        rows = ", and rows on their way" if self.mode == "rows" else ""
        why = f"; tables whole: {self._not_by_rows}" if self._not_by_rows else ""
        if self._speed is not None and self._speed.left_rows:
            why += "; rows took longer"
        return f"{self.mode}, {images} {size_text(size)} of memory for each rank{rows}{why}"

    def _choose(self, tensors: list[Placed]) -> str:
        """By what the state is made of, and by the memory that there is for it. How quick that
        is, shows later: takes_another_way()."""
        sizes = [one.local.numel() * one.local.element_size() for one in tensors]
        all_bytes = sum(sizes)
        of_tables = sum(sizes[i] for i, _ in self._rows.pieces(tensors)) if self._rows else 0
        room = self._room()
        rows_fit = of_tables > ROWS_SHARE * all_bytes and ROWS_MEMORY * all_bytes < room
        if self._group.all(rows_fit):
            return "rows"
        return "full" if self._group.all(self._images * all_bytes < room) else "stream"

    def _room(self) -> int:
        """Of memory, for each rank."""
        room = _replica.memory_room(os.path.dirname(self._place.folder))
        return int(room) // self._place.local_world_size

    def takes_another_way(self, tensors: list[Placed]) -> bool:
        """All ranks ask it before each save. True: what `auto` has chosen turned out to be slow, or
        may not be any more, and the layout has to be planned anew. The same on all ranks: the first
        one's measurements and counts decide."""
        speed = self._speed
        if speed is None or not (self.mode == "rows" or speed.left_rows):
            return False
        leave, again = self._group.first_says([int(speed.says_leave()), int(speed.says_again())])
        if again:
            speed.try_rows()
            self._turn("auto")
            # Its memory is there, as images of everything are: none has to be looked for.
            self.mode = "rows" if self._rows is not None else "full"
            return True
        if not leave:
            return False
        more = self._images - min(speed.wholes, IMAGES_FULL)  # than the images that there are
        all_bytes = sum(one.local.numel() * one.local.element_size() for one in tensors)
        if not self._group.all(more * all_bytes < self._room()):
            return False
        speed.leave_rows()
        self._turn("full")
        self._tell_of_speed()
        return True

    def _tell_of_speed(self) -> None:
        """Once: it takes other memory than was told before."""
        if self._speed is None or self._speed.told or self._place.rank != 0:
            return
        self._speed.told = True
        print(
            "headway: saves by rows take longer than a copy of everything, as nearly all rows "
            "change: everything is copied from now on; staging='rows' or 'full' decides it",
            file=sys.stderr,
        )

    def begin(
        self,
        tensors: list[Placed],
        persist: bool,
        wait_s: float,
        all_ready: Callable[[bool], bool],
    ) -> Begun | None:
        """None: this time no rank saves. `all_ready` asks the others."""
        until_s = time.monotonic() + wait_s
        begun = self._begin(tensors, persist, wait_s, all_ready)
        if (
            begun is None and wait_s > 0
        ):  # rows that could follow nothing: a whole step can be saved
            begun = self._begin(tensors, persist, max(0.0, until_s - time.monotonic()), all_ready)
        return begun

    def _begin(
        self,
        tensors: list[Placed],
        persist: bool,
        wait_s: float,
        all_ready: Callable[[bool], bool],
    ) -> Begun | None:
        trainer = self._trainer
        planned_s = 0.0
        if self._rows is not None:
            begin_s = time.perf_counter()
            places = trainer.plan_rows(self._rows.pieces(tensors), persist)
            planned_s = time.perf_counter() - begin_s
            if self._group.all(places is not None):
                if not all_ready(trainer.wait_for_rows_slot(wait_s)):
                    return None
                slot = trainer.begin_rows()
                fill = self._timed(trainer.fill_rows, planned_s, whole=False)
                return Begun(slot, places, fill) if slot is not None else None
        if not all_ready(trainer.wait_for_slot(wait_s)):
            return None
        slot = trainer.begin()
        fill = self._timed(trainer.fill, planned_s, whole=True)
        return Begun(slot, self._places, fill) if slot is not None else None

    def _timed(
        self, fill: Callable[..., None], planned_s: float, whole: bool
    ) -> Callable[..., None]:
        speed = self._speed
        if speed is None or self.mode != "rows":
            return fill

        def timed(*given: Any) -> None:
            begin_s = time.perf_counter()
            fill(*given)
            speed.saved(planned_s, time.perf_counter() - begin_s, whole)

        return timed

    def sealed(self, persist: bool) -> None:
        if self._rows is not None:
            self._rows.sealed(persist)
