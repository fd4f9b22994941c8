"""hw.checkpointer(): saves that cost the trainer one copy, and a restart that goes on from it."""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import warnings
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any, NoReturn

import torch

from headway import _recorder as rec
from headway import _replica
from headway._api import checkpoint_blocked, should_stop
from headway._recorder import core
from headway._run import run
from headway.checkpoint import (
    agree,
    arguments,
    claims,
    collect,
    device,
    memory,
    store,
    stream,
    where,
)
from headway.checkpoint import loader as loaders
from headway.checkpoint.cadence import Cadence, Due, EverySteps, Tuned
from headway.checkpoint.clock import Clock
from headway.checkpoint.errors import CheckpointError, CheckpointUsageError, ends_early
from headway.checkpoint.guests import Guests
from headway.checkpoint.live import Restored
from headway.checkpoint.outcome import Outcome, but_for
from headway.checkpoint.owed import Owed
from headway.checkpoint.parts import StatefulPart
from headway.checkpoint.restore import restore
from headway.checkpoint.same import Sameness
from headway.checkpoint.settle import Settling
from headway.checkpoint.staging import Begun, Staging
from headway.checkpoint.tensors import Piece, Placed, address_of, view
from headway.checkpoint.untouched import Untouched

WAIT_S = 3600.0


class Checkpointer:
    """Training thread only. `folder` is the same on all ranks, and each rank makes one.

    save(step)        stages the state after `step` and has it written in the background
    maybe_save(step)  the same when it is time; True if it did
    restore()         the step to go on after, or None where nothing is saved
    wait()            until everything that was saved is on disk
    close()           training is over; a `with` statement does it as well

    `staging`: `full` copies everything at each save; `rows` only the rows of embedding tables that
    changed, and the rest in full; `stream` keeps no copy in memory, the training waits for the
    disk; `auto` chooses by what the state is made of, the memory there is, and what saves take.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        model: torch.nn.Module | None = None,
        optimizer: Any = None,
        loader: Any = None,
        values: dict[str, Any] | None = None,
        every_steps: int | None = None,
        stage_steps: int | None = None,
        min_seconds: float = 10.0,
        max_seconds: float = 6 * 3600.0,
        keep_last: int = 3,
        keep_every_hours: float = 0.0,
        staging: str = "auto",
        stream_bytes: int = stream.BYTES,
        tables: Sequence[torch.Tensor] = (),
        upload: str | None = None,
        keep_uploaded: int = 0,
        **others: Any,
    ) -> None:
        self.folder = arguments.folder_of(folder)
        arguments.check_cadence(every_steps, stage_steps, min_seconds, max_seconds, staging)
        arguments.check_kept("keep_last", keep_last)
        arguments.check_kept("keep_every_hours", keep_every_hours, whole=False)
        arguments.check_kept("keep_uploaded", keep_uploaded)
        arguments.check_stream_bytes(stream_bytes)
        arguments.check_tables(tables)
        self._keep = (keep_last, keep_every_hours * 3600)
        options = inspect.signature(Checkpointer).parameters
        self.parts = arguments.make_parts(model, optimizer, loader, values, others, options)
        claims.check(self.folder)
        self.upload = store.target(upload)
        self.place = where.find_place(self.folder)
        # Before a holder hears of us. None: whatever there is counts.
        self.there_before = memory.there_before(self.folder)
        self.trainer = where.make_trainer(
            self.place, self.folder, *self._keep, self.upload, keep_uploaded
        )
        self.group = agree.Group()
        self._often = stage_steps is not None
        self.staging = Staging(
            staging,
            self.place,
            self.trainer,
            self.group,
            model=model,
            optimizer=optimizer,
            tables=tables,
            often=self._often,
        )
        self.cadence: Cadence = (
            EverySteps(every_steps, stage_steps)
            if every_steps is not None
            else Tuned(self.group, min_seconds, max_seconds)
        )
        self.clock = Clock()
        self._outcome = Outcome(self.trainer, self.place, self.cadence)
        self.skipped = 0  # saves that found no room
        self._damaged: set[str] = set()  # names of checkpoints that restore() found to be
        # The step that the state is of, as far as maybe_save() was told; None: save() decides.
        self._seen: int | None = None
        # Where what was restored is not on disk, until the script says something of a step.
        self._untouched: Untouched | None = None
        self._settling: Settling | None = None  # of what was restored
        self._closed = False
        self.allow_missing: tuple[str, ...] = ()  # what restore() may do without
        self._owed = Owed()
        self.restored_from: str | None = None  # "replica", "replica-copy", "peer", "disk", "store"
        self.last_saved: int | None = None
        self._capacity = collect.DOCUMENT_BYTES_MIN
        self._pieces: list[tuple[Piece, bool]] = []
        self._lanes = device.Lanes()
        self._bounce = stream.Bounce(self._lanes, stream_bytes)
        self._same = Sameness(self.group)
        self._guests = Guests(self.place, self.group)
        self._only_in_memory = False  # what the job went on from, and in that of few
        self._stopped_after: int | None = None  # a step, when the job was asked to stop
        # Retention would remove in favour of a run that began anew what an earlier one has left.
        # A file system may show the ranks different things: the first one's answer counts.
        first = self.place.rank == 0 and memory.has_checkpoints(self.folder)
        self._unread = bool(self.group.first_says([int(first)])[0])
        claims.claim(self.folder, self)
        atexit.register(self._bye)

    # ---- saving

    def save(self, step: int, *, data: int | None = None, wait: bool = False) -> None:
        """The state is safe from this process's death when it returns, and with `wait` from the
        machine's. A step that is saved already is not saved again. Raises CheckpointError where it
        cannot be saved, and with `wait` where it did not get to the disk."""
        self._check_usable("save()")
        step, data = self._numbers("save()", step, data)
        self._told()
        self._seen = None
        with checkpoint_blocked():
            try:
                saved = self._is_saved(step) or self._stage(step, data, persist=True, wait_s=WAIT_S)
            except stream.NotSaved as error:
                raise CheckpointError(str(error)) from None
            if not saved:
                self._outcome.failed += 1
                core.checkpoint(step, data, rec.FAILED)
                why = self.trainer.refusal() or "the last saves have not got to the disk"
                raise CheckpointError(f"checkpointer: step {step} is not saved: {why}")
            if wait and not self.wait():
                raise CheckpointError(f"checkpointer: {self._not_on_disk()}")

    def _numbers(self, call: str, step: Any, data: Any) -> tuple[int, int | None]:
        if data is not None:
            data = arguments.whole_number(call, "data", data)
        number = arguments.whole_number(call, "step", step)
        latest = max((one for one in (self.last_saved, self._seen) if one is not None), default=0)
        if number < latest:  # it would be what the next run goes on from, by its time
            raise CheckpointUsageError(
                f"checkpointer: {call}: step {number} comes after step {latest}: count steps on "
                "through all epochs, and from what restore() returns"
            )
        return number, data

    def _check_open(self, call: str) -> None:
        if self._closed:
            raise CheckpointUsageError(
                f"checkpointer: {call} after close(): make another checkpointer to go on"
            )

    def _check_usable(self, call: str) -> None:
        self._check_open(call)
        if self._unread:
            raise CheckpointUsageError(
                f"checkpointer: {self.folder} holds checkpoints of an earlier run: call restore() "
                "before the first save to go on from them, or save into another folder"
            )

    def _is_saved(self, step: int) -> bool:
        """And on its way to the disk, or there; what failed is not. The same on all ranks."""
        self._outcome.look(self._seen)
        return self.group.all(step == self.last_saved and self._outcome.is_coming(step))

    def maybe_save(self, step: int, *, data: int | None = None) -> bool:
        """To be called after every step, on every rank."""
        self._check_usable("maybe_save()")
        step, data = self._numbers("maybe_save()", step, data)
        self._told()
        self._outcome.look(self._seen)
        self._settle()
        if should_stop(step):
            if self._stopped_after is not None and step > self._stopped_after:
                self._end_loop()
            self.save(step, data=data, wait=True)
            self._stopped_after = step
            return True
        self._seen = step
        due = self.cadence.due(step)
        if self._only_in_memory or self._owed.is_due(step):
            due = Due.PERSIST
        late = due is Due.PERSIST and self._waits_for_the_disk(step)
        if late:
            due = Due.STAGE
        if due is Due.STAGE and self.staging.mode == "stream":
            due = Due.NOTHING  # there is no memory to stage into
        if due is Due.NOTHING or step == self.last_saved:
            if not self._pieces:
                # Memory takes a while to get: ask for it before the first save is due. After a
                # step, because optimizers make their state in the first one.
                self._plan(self._tensors())
            self.skipped += late
            return False
        saved = False
        with checkpoint_blocked():
            try:
                saved = self._stage(step, data, persist=due is Due.PERSIST, wait_s=0.0)
                if due is Due.PERSIST and not saved:
                    self._owed.missed(step)
            except stream.NotSaved as error:  # training goes on, and the next one tries again
                warnings.warn(f"headway: {error}", RuntimeWarning, stacklevel=2)
        self.skipped += late or not saved
        return saved

    def _end_loop(self) -> NoReturn:
        """The job was asked to stop, the step before is on disk, and the loop does not ask: SIGTERM
        would have ended it without us."""
        self.close()
        if self.place.rank == 0:
            print(
                f"headway: asked to stop, and step {self._stopped_after} is on disk: the loop goes "
                "on all the same and is ended. `if hw.should_stop(step): break` after maybe_save() "
                "ends it in a way of your own",
                file=sys.stderr,
            )
        raise SystemExit(0)

    def settle_before_steps(self) -> None:
        """For whoever restores: the model's memory is that of a replica now."""
        self._settling = Settling(self.trainer)

    def _settle(self) -> None:
        if self._settling is not None and self._settling.is_over():
            self._settling = None

    def _waits_for_the_disk(self, step: int) -> bool:
        """Where steps get into memory between saves, a second one on its way to the disk would take
        the memory that they need: it is made up for when the first is there. Ranks hear of that at
        different times, and decide as one."""
        if not self._often or self.group.all(not self._outcome.is_busy()):
            return False
        self._owed.missed(step)
        return True

    def _stage(self, step: int, data: int | None, persist: bool, wait_s: float) -> bool:
        self._settle()
        self.there_before = None
        now_ns = self.clock.now_ns()
        self.cadence.started(step, persist)
        tensors = self._tensors()
        if self.staging.takes_another_way(tensors):
            self._pieces = []  # to be planned anew
        self._plan(tensors)
        if data is None:
            data = run.data if run.data is not None else step
        if self.staging.mode == "stream":
            self._stream(step, data, now_ns, tensors)
            return True
        begun = self.staging.begin(tensors, persist, wait_s, self._all_ready)
        if begun is None:
            self.cadence.settled(step, False)
            return False
        addresses = [address_of(placed.local) for placed in tensors]
        self._copy_foreign(begun, tensors, addresses)
        begun.fill(begun.slot, step, data, now_ns, persist, addresses)
        self.staging.sealed(persist)
        self._same.look(begun.slot, tensors, begun.places)
        core.checkpoint(step, data, rec.STAGED)
        self.last_saved = step
        self.cadence.returned(step)
        if persist:
            self._outcome.awaits(step)
            self._only_in_memory = False
            self._owed.made()
        return True

    def _stream(self, step: int, data: int, now_ns: int, tensors: list[Placed]) -> None:
        self.wait()  # for what was staged in another way
        try:
            name = stream.save(
                *(self.place, self.folder, self.group, self._pieces, tensors),
                *(step, data, now_ns, self._bounce),
            )
        except stream.NotSaved as error:
            self.cadence.settled(step, False)
            self._outcome.was_lost(step, str(error))
            core.checkpoint(step, data, rec.FAILED)
            raise
        core.checkpoint(step, data, rec.DURABLE)
        self._damaged.discard(name)
        self._prune()
        self._only_in_memory = False
        self._owed.made()
        self.last_saved = step
        self._outcome.got_there(step)
        self.cadence.returned(step)
        self.cadence.settled(step, True)

    def _prune(self) -> None:
        keep_last, keep_every_s = self._keep
        if self.place.rank != 0 or keep_last == 0:
            return
        try:
            _replica.prune(self.folder, keep_last, keep_every_s, sorted(self._damaged))
        except CheckpointError as error:  # no reason to stop training
            warnings.warn(f"headway: {error}", RuntimeWarning, stacklevel=4)

    def found_damaged(self, names: list[str]) -> None:
        """For whoever restores: checkpoints on disk that retention does not count any more. The
        same on all ranks."""
        self._damaged.update(names)
        if names:
            self.trainer.found_damaged(names)

    def switch_staging(self, mode: str) -> None:
        """From the next save on; to be called on every rank after the same step."""
        self.staging.switch(mode)
        self._bounce.release()
        self._pieces = []

    def touched(self, parameter: torch.Tensor, ids: torch.Tensor | Sequence[int]) -> None:
        """These rows of a table were changed by something that is no optimizer of torch's."""
        self.staging.touched(parameter, ids)

    def _all_ready(self, here: bool) -> bool:
        """All ranks save a step, or none: a step that only some have is of no use."""
        everywhere, same = self.group.all_with(here, self._same.digest)
        if not same:
            self._same.differ()
        if everywhere:
            self._guests.take()
        return everywhere

    def _check_served(self) -> None:
        self.trainer.left_behind(memory.ANSWER_S)
        problems = [said for said in agree.gather(self.trainer.refusal()) if said]
        if problems:
            raise CheckpointError(f"checkpointer: {problems[0]}")

    def _tensors(self) -> list[Placed]:
        """This rank's state, its document first, and that of its guest. All ranks call it."""
        collected = collect.collect(self.parts, self.place.rank)
        document = {
            **collected.document,
            "cadence": self.cadence.memory(),
            "durable": self._outcome.durable,
        }
        text = collect.to_bytes(document, self._capacity)
        self._capacity = text.numel()
        piece = collect.document_piece(self.place.rank, self._capacity)
        own = [Placed(piece, text, False, True, own=True), *collected.tensors.values()]
        return own if self.staging.mode == "stream" else own + self._guests.meet(own)

    def _plan(self, tensors: list[Placed]) -> None:
        """A layout for these tensors, unless it is the one that there is."""
        ranks, rank = self.place.world_size, self.place.rank
        shared = {p.piece.name: p for p in tensors if p.replicated}
        owner = collect.owners(shared, ranks) if ranks > 1 else {}
        pieces = [(p.piece, p.first and owner.get(p.piece.name, rank) == rank) for p in tensors]
        if pieces == self._pieces:
            return
        self._lanes.release()
        self.staging.plan(tensors, [(tuple(piece), own) for piece, own in pieces])
        self._pieces = pieces

    def _copy_foreign(self, begun: Begun, tensors: list[Placed], addresses: list[int]) -> None:
        """What the engine cannot reach is copied by torch: from a device, or out of order."""
        pairs = [
            (view(begun.slot, placed.piece, begin), placed.local)
            for placed, address, (begin, _) in zip(tensors, addresses, begun.places, strict=True)
            if address == 0 and placed.local.numel() > 0
        ]
        self._lanes.copy(begun.slot, pairs)

    # ---- what became of them

    def wait(self, timeout: float | None = None) -> bool:
        """True when everything that was saved is on disk; False when the last save is known not to
        get there, or time is up."""
        return self._outcome.wait(timeout, self._seen)

    @property
    def last_durable(self) -> int | None:
        return self._outcome.durable

    @property
    def last_uploaded(self) -> int | None:
        return self._outcome.uploaded

    @property
    def skipped_uploads(self) -> int:
        """Checkpoints for which a newer one was in the store first."""
        return self._outcome.skipped_uploads

    @property
    def failed(self) -> int:
        """Saves that came to nothing."""
        return self._outcome.failed

    def close(self) -> None:
        """Training is over: the step that maybe_save() was told of last is saved if it is not,
        what was saved gets to the disk, and the memory is given back. To be called on every rank,
        and once is enough. Raises CheckpointError, when all else is done, where the last step did
        not get to the disk: a job must not look finished whose result is lost."""
        if self._closed:
            return
        self.wait()
        self._settle()
        problem = self._trained_on() if self._lost_count() else ""
        if not problem and self._lacks_last():
            problem = self._save_last()
        self.wait()
        self.staging.close()
        self._bounce.release()
        self.trainer.bye()
        self._closed = True
        claims.release(self)
        self._told()
        if self._outcome.lost is not None:
            problem = self._not_on_disk()
        if problem and self._is_cut_off():
            warnings.warn(f"headway: {problem}", RuntimeWarning, stacklevel=2)
        elif problem:
            raise CheckpointError(f"checkpointer: {problem}")

    def _lacks_last(self) -> bool:
        """After wait(). One that failed is tried once more, and one that is only in memory is not
        left to a holder that could tell nobody."""
        if self._seen is None:
            return False
        if self._is_cut_off():
            return self._seen != self.last_durable
        return not self.group.all(self._seen == self.last_durable)

    def _lost_count(self) -> bool:
        """What was restored was nowhere on disk, and has been trained on without a word to us: of
        which step it is now nobody knows. The same on all ranks."""
        if self._seen is None or self._is_cut_off():
            return False
        known = self._untouched is None or bool(self._untouched)
        return not self.group.all(known or self._seen == self.last_durable)

    def _told(self) -> None:
        """From now on the script says of which step the state is."""
        if self._untouched is not None:
            self._untouched.close()
            self._untouched = None

    def _trained_on(self) -> str:
        return (
            f"{self.folder}: step {self._seen} was restored from memory and is not on disk, "
            f"{but_for(self.last_durable)}, and the model has changed since without a save: call "
            "save(step) after the last step, or maybe_save(step) after each"
        )

    def _is_cut_off(self) -> bool:
        """From the other ranks, which are not where this one is."""
        return self.group.gone or ends_early(sys.exc_info()[1])

    def _save_last(self) -> str:
        """What kept it from being saved."""
        step = self._seen
        assert step is not None
        if ends_early(sys.exc_info()[1]):
            problem = "an exception came before, maybe in the middle of the next step"
        elif self.group.gone:
            problem = "close() comes before destroy_process_group()"
        else:
            try:
                self._save_anyhow(step)
                return ""
            except Exception as error:
                problem = str(error).removeprefix("checkpointer: ")
        self._seen = step
        return "" if step == self.last_saved else f"{self._loss()}: {problem}"

    def _save_anyhow(self, step: int) -> None:
        """The same on all ranks."""
        try:
            self.save(step)
        except CheckpointError:
            if self.staging.mode == "stream":
                raise
            self.switch_staging("stream")  # there is no memory for a copy, and it may take its time
            self.save(step)

    def _loss(self) -> str:
        return f"{self.folder}: step {self._seen} is not saved, {but_for(self.last_saved)}"

    def _not_on_disk(self) -> str:
        """Of the last save, which failed."""
        return self._outcome.loss(self.folder, in_memory=self.staging.mode != "stream")

    def __enter__(self) -> Checkpointer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not ends_early(error):
            self.close()
        else:  # a successor goes on from memory, maybe one in this process
            claims.release(self)

    @property
    def epoch(self) -> int:
        """Passes over the loader that are over: where the script's loop over epochs begins."""
        part = self.parts.get("loader")
        if not isinstance(part, StatefulPart) or not loaders.is_resumable(part.thing):
            raise CheckpointUsageError(
                "checkpointer: epoch is known where loader= is a plain DataLoader; "
                "elsewhere keep it in values"
            )
        return loaders.epoch_of(part.thing)

    def _bye(self) -> None:
        # After an error somebody may start it again, and go on from memory.
        if self._closed or hasattr(sys, "last_value"):
            return
        self._outcome.look(self._seen)
        if self.place.rank == 0 and self._seen is not None and self._seen != self.last_saved:
            print(
                f"headway: {self._loss()}: the script ended without close() of its checkpointer; "
                "call it after the last step, or use the checkpointer in a `with` statement",
                file=sys.stderr,
            )
        elif self.place.rank == 0 and self._outcome.lost is not None:
            print(f"headway: {self._not_on_disk()}", file=sys.stderr)
        self.trainer.bye()

    # ---- restoring

    def restore(self, *, allow_missing: str | Collection[str] = ()) -> int | None:
        """Puts the newest state that all ranks have into the model, the optimizer and the rest.
        Before DDP, torch.compile or the like get hold of the model it costs no copy.

        `allow_missing`: parts that are new to the script, or what is new below one ("scheduler",
        "model.head"): where they were not saved they stay as they are. So does the "optimizer"
        where that of another kind was saved."""
        self._check_open("restore()")
        self.allow_missing = arguments.missing_names(allow_missing, self.parts)
        self._unread = False
        self._seen = self._outcome.lost = None
        core.begin(rec.RESTORE)
        try:
            self._check_served()
            restored: Restored | None = restore(self)
        finally:
            core.end(rec.RESTORE)
        self.there_before = None
        if restored is None:
            return None
        core.restore(restored.step, restored.data, core.name_id(restored.tier))
        run.step, run.data = restored.step, restored.data
        in_memory = restored.tier not in ("disk", "store")
        self._only_in_memory = restored.by_peers
        self.cadence.remember(restored.cadence, in_memory and not restored.by_peers)
        self.last_saved = restored.step
        self._outcome.durable = restored.durable
        if restored.durable != restored.step:
            # A save may have failed before, and a holder that has tried would not try again: what
            # is not trained on, close() saves.
            self._seen, self._untouched = restored.step, Untouched(self.parts.get("model"))
        self.restored_from = restored.tier
        return restored.step
