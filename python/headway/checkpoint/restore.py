"""The way back: which state the ranks have among them, and how it gets into the model, the
optimizer and the rest: from memory (memory.py), from disk, or from the object store."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

import torch

from headway import _replica
from headway.checkpoint import agree, choose, collect, live, memory, store, where
from headway.checkpoint.errors import (
    CheckpointDamagedError,
    CheckpointError,
    CheckpointMismatchError,
)
from headway.checkpoint.live import Restored
from headway.checkpoint.passed import Passed
from headway.checkpoint.peers import Image, Incomplete
from headway.checkpoint.tensors import place

if TYPE_CHECKING:
    from headway.checkpoint.checkpointer import Checkpointer

STORED_MAX = 16  # checkpoints on disk that are looked at


def restore(keeper: Checkpointer) -> Restored | None:
    images, damaged_in_memory = memory.left_behind(keeper)
    stored, damaged_on_disk = _stored(keeper.folder, keeper.there_before)
    bad = [*(choose.Damaged(text, True) for text in damaged_in_memory), *damaged_on_disk]
    offers = agree.gather(choose.Offer([image.offer() for image in images], stored, bad))
    found = _with_store(keeper, offers)
    damaged = sorted({one for each in offers for one in each.damaged})
    # Told where the job goes on all the same; else they are in the error.
    over = [f"a checkpoint is passed over: {one.text}" for one in damaged if one.newest]
    _say_what_is_lost(keeper, offers, found)
    passed = Passed()
    unsound: list[str] = []
    # A file system may show the ranks different things: the first one's answer counts.
    durable = [one.step for one in offers[0].stored]
    for candidate in found:
        on_disk = candidate.step in durable
        problem, restored = None, None
        try:
            if candidate.tier in ("replica", "peer"):
                restored = memory.from_memory(keeper, candidate, images, on_disk)
            else:
                restored = _from_disk(keeper, _on_disk(keeper, candidate))
        except CheckpointError as error:
            problem = error
        problems = [said for said in agree.gather(problem) if said is not None]
        if not problems and restored is not None:
            keeper.clock.is_past(candidate.time_ns)
            _pass_over(over)
            if not durable and keeper.place.rank == 0:
                _say_what_is_gone(keeper, candidate, images)
            keeper.found_damaged(unsound)
            on_disk = on_disk or candidate.tier in ("disk", "store")
            newest = next(iter(durable), None)
            return restored._replace(durable=candidate.step if on_disk else newest)
        if candidate.tier == "disk" and _is_damaged(problems):
            unsound.append(candidate.name)
        what = f"step {candidate.step} ({candidate.tier})"
        over.append(f"{what} is passed over: {problems[0]}")
        if not isinstance(problems[0], Incomplete):
            passed.add(problems[0], what)
    for one in damaged:
        passed.add(CheckpointDamagedError(one.text))
    if passed.states:
        # To begin anew without a word would be to lose what is there.
        raise passed.error(keeper.folder, memory.WITHOUT_MEMORY if images else "")
    _pass_over(over)
    return None


def _is_damaged(problems: list[CheckpointError]) -> bool:
    return any(isinstance(problem, CheckpointDamagedError) for problem in problems)


def _pass_over(texts: list[str]) -> None:
    for text in texts:
        warnings.warn(f"headway: {text}", RuntimeWarning, stacklevel=5)


def _say_what_is_gone(
    keeper: Checkpointer, candidate: choose.Candidate, images: list[Image]
) -> None:
    """Somebody who removed the folder to begin anew would not expect a state from memory."""
    in_memory = candidate.tier in ("replica", "peer")
    if in_memory and any(_was_durable(image) for image in images):
        warnings.warn(
            f"headway: {keeper.folder} holds no checkpoint, though some were saved into it. Going "
            f"on from step {candidate.step}, which is still in memory; to begin anew, set "
            f"{memory.WITHOUT_MEMORY}=1",
            RuntimeWarning,
            stacklevel=5,
        )


def _was_durable(image: Image) -> bool:
    """A save before it got to the disk. One that was only on its way says nothing: the disk may
    have been full all the time."""
    for rank in image.documents:
        try:
            if live.was_durable(live.parse(image.text_of(rank) or b"", "")):
                return True
        except CheckpointError:
            continue
    return False


def _say_what_is_lost(
    keeper: Checkpointer, offers: list[choose.Offer], found: list[choose.Candidate]
) -> None:
    """On one machine it is only a save that was not over."""
    lost = choose.newest_lost(offers)
    if lost is None or keeper.place.rank != 0:
        return
    if keeper.place.world_size == keeper.place.local_world_size:
        return
    gone = ", ".join(str(rank) for rank in lost.ranks[:8]) + (", …" if len(lost.ranks) > 8 else "")
    on = f"step {found[0].step} ({found[0].tier})" if found else "the beginning: nothing is saved"
    warnings.warn(
        f"headway: step {lost.step} is in memory only in part: what these ranks had of their own "
        f"is in no memory that is left: {gone}. Going on from {on}",
        RuntimeWarning,
        stacklevel=5,
    )


def _with_store(keeper: Checkpointer, offers: list[choose.Offer]) -> list[choose.Candidate]:
    """With what the store has, if there is one. It is asked by rank 0 alone, and not at all where
    the agent's own replica is whole: nobody can have trained further elsewhere meanwhile."""
    found = choose.candidates(offers)
    under_agent = not keeper.place.command
    if not keeper.upload or not store.is_asked():
        return found
    if under_agent and any(candidate.tier == "replica" for candidate in found):
        return found
    kept: list[choose.Stored] = []
    problem = None
    if keeper.place.rank == 0:
        try:
            kept = store.look(keeper.upload, store.LOOK_S if found else store.LOOK_LONG_S)
        except CheckpointError as error:
            problem = str(error)
    kept, problem = agree.broadcast((kept, problem))
    if problem and not found:
        raise CheckpointError(
            f"{keeper.folder}: nothing is saved here, and whether the object store has something "
            f"cannot be told: {problem}. To begin anew all the same, set "
            "HEADWAY_CKPT_WITHOUT_STORE=1"
        )
    if problem and keeper.place.rank == 0:
        warnings.warn(
            f"headway: whether the object store has something newer cannot be told: {problem}. "
            f"Going on from step {found[0].step} ({found[0].tier})",
            RuntimeWarning,
            stacklevel=5,
        )
    return choose.candidates(offers, kept)


def _on_disk(keeper: Checkpointer, candidate: choose.Candidate) -> choose.Candidate:
    """One of the store's comes into the folder first, by rank 0: all ranks share the folder."""
    if candidate.tier != "store":
        return candidate
    name, problem = "", None
    if keeper.place.rank == 0:
        try:
            name = store.fetch(keeper.upload, candidate.name, keeper.folder)
        except CheckpointError as error:
            problem = str(error)
    name, problem = agree.broadcast((name, problem))
    if problem:
        raise CheckpointError(problem)
    return candidate._replace(name=name)


def _stored(
    folder: str, there_before: frozenset[str] | None
) -> tuple[list[choose.Stored], list[choose.Damaged]]:
    """What looks good, and what is wrong with those that do not."""
    good, damaged = _replica.list_checkpoints(folder, STORED_MAX)
    stored = [choose.Stored(*one) for one in good]
    if there_before is not None:
        stored = [one for one in stored if one.name in there_before]
    return stored, [choose.Damaged(*one) for one in damaged]


# ---- from disk


def _from_disk(keeper: Checkpointer, candidate: choose.Candidate) -> Restored:
    reader = _replica.Reader(os.path.join(keeper.folder, candidate.name))
    tensors = {name: (dtype, shape) for name, dtype, shape in reader.tensors()}
    saved_ranks = collect.ranks_of(tensors)
    rank = choose.document_for(keeper.place.rank, saved_ranks)
    own = collect.document_name(rank)
    if own not in tensors:
        raise CheckpointMismatchError(f"{reader.path}: without the state of rank {rank}")
    text = torch.empty(tensors[own][1], dtype=torch.uint8)
    reader.read([(own, [0], list(text.shape), text.data_ptr())], 1)
    document = live.parse(bytes(text.numpy()), reader.path)
    targets = live.model_targets(keeper, document)
    names = set(live.tensor_names(document["parts"])) - set(targets)
    fetched = {name: live.allocate(keeper, name, tensors) for name in names if name in tensors}
    wants, after = [], []
    for name, tensor in [*targets.items(), *fetched.items()]:
        piece = place(name, tensor)
        found = tensors.get(name)
        if found is None or (found[0], tuple(found[1])) != (piece.piece.dtype, tuple(tensor.shape)):
            wanted = f"{piece.piece.dtype} {list(tensor.shape)}"
            was = "nothing" if found is None else f"{found[0]} {list(found[1])}"
            raise CheckpointMismatchError(f"{name}: {wanted} is wanted, saved was {was}")
        target = piece.local
        if target.device.type != "cpu" or not target.is_contiguous():
            target = torch.empty(target.shape, dtype=target.dtype)
            after.append((piece.local, target))
        offsets, shape = list(piece.piece.offsets), list(piece.piece.shape)
        wants.append((name, offsets, shape, target.data_ptr()))
    reader.read(wants, where.threads(keeper.place.local_world_size))
    with torch.no_grad():
        for tensor, read in after:
            tensor.copy_(read)
    live.load_rest(keeper, document, {**fetched, **targets}.__getitem__, saved_ranks)
    return Restored(reader.step, reader.data, candidate.tier, live.cadence_of(document))
