"""The way back: which state all ranks have, and how it gets into the model, the optimizer and the
rest. From the replica nothing is copied where a tensor can take the replica's memory over."""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from headway.checkpoint import agree, choose, collect, store, tagged, where
from headway.checkpoint.errors import CheckpointError
from headway.checkpoint.parts import ModelPart, OptimizerPart
from headway.checkpoint.tensors import TORCH_DTYPES, Piece, is_dtensor, place, view

if TYPE_CHECKING:
    from headway.checkpoint.checkpointer import Checkpointer

ANSWER_S = 30.0  # for the holder
LET_GO_AFTER_S = 0.1
STORED_MAX = 16  # checkpoints on disk that are looked at


class Restored(NamedTuple):
    step: int
    data: int
    tier: str
    cadence: list[float]


class Mismatch(CheckpointError):
    """This state does not fit into this model; another may."""


def restore(keeper: Checkpointer) -> Restored | None:
    left = {(w.attempt, w.step): w for w in keeper.trainer.left_behind(ANSWER_S)}
    left = {key: w for key, w in left.items() if w.world_size == keeper.place.world_size}
    keeper.trainer.free_live()
    stored, damaged = _stored(keeper.folder)
    offer = choose.Offer(
        [choose.Staged(w.attempt, w.step, w.time_ns) for w in left.values()], stored, damaged
    )
    offers = agree.gather(offer)
    found = _with_store(keeper, offers)
    damaged = sorted({text for each in offers for text in each.damaged})
    for text in damaged:
        warnings.warn(f"headway: a checkpoint is passed over: {text}", RuntimeWarning, stacklevel=4)
    for index, candidate in enumerate(found):
        spare = len(found) > index + 1
        problem = None
        restored = None
        try:
            if candidate.tier == "replica":
                whole = left[candidate.attempt, candidate.step]
                restored = _from_replica(keeper, whole, spare)
            else:
                restored = _from_disk(keeper, _on_disk(keeper, candidate))
        except CheckpointError as error:
            problem = str(error)
        problems = [said for said in agree.gather(problem) if said]
        if not problems and restored is not None:
            return restored
        warnings.warn(
            f"headway: step {candidate.step} ({candidate.tier}) is passed over: {problems[0]}",
            RuntimeWarning,
            stacklevel=4,
        )
    if found or damaged:
        # To begin anew without a word would be to lose what is there.
        raise CheckpointError(
            f"{keeper.folder}: none of {len(found) + len(damaged)} saved states fits; see the "
            "warnings. To begin anew, save into another folder"
        )
    return None


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


def _stored(folder: str) -> tuple[list[choose.Stored], list[str]]:
    """What looks good, and what is wrong with those that do not."""
    from headway import _replica

    good, damaged = _replica.list_checkpoints(folder, STORED_MAX)
    return [choose.Stored(*one) for one in good], damaged


# ---- the state's document, and the live tensors that it is about


def _parse(text: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: its state is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("version") != collect.DOCUMENT_VERSION:
        raise CheckpointError(f"{where}: its state is of a version that this one cannot read")
    if not isinstance(document.get("parts"), dict):
        raise CheckpointError(f"{where}: its state has no parts")
    return document


def _cadence(document: dict[str, Any]) -> list[float]:
    found = document.get("cadence", [])
    good = isinstance(found, list) and all(isinstance(number, (int, float)) for number in found)
    return [float(number) for number in found] if good else []


def _model_targets(keeper: Checkpointer, document: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The model's live tensors by the name that each is stored under."""
    part = keeper.parts.get("model")
    if not isinstance(part, ModelPart):
        return {}
    saved = document["parts"].get("model")
    if not isinstance(saved, dict):
        raise Mismatch("model: not in what was saved")
    targets: dict[str, torch.Tensor] = {}
    for key, live in part.state().items():
        if not isinstance(live, torch.Tensor):
            continue
        entry = saved.get(key)
        if not isinstance(entry, dict) or not isinstance(entry.get("$tensor"), str):
            raise Mismatch(f"model: {key} is not in what was saved")
        targets.setdefault(entry["$tensor"], live)
    return targets


def _load_rest(
    keeper: Checkpointer,
    document: dict[str, Any],
    fetch: Callable[[str], torch.Tensor],
    saved_ranks: int,
) -> None:
    for name, part in keeper.parts.items():
        if name not in document["parts"]:
            raise Mismatch(f"{name}: not in what was saved")
        if part.per_rank and saved_ranks != keeper.place.world_size:
            warnings.warn(
                f"headway: {name} is not restored: it was saved by {saved_ranks} ranks, each its "
                f"own, and there are {keeper.place.world_size} now",
                RuntimeWarning,
                stacklevel=5,
            )
            continue
        part.load(tagged.decode(document["parts"][name], fetch))


# ---- from the replica


def _from_replica(keeper: Checkpointer, whole: Any, spare: bool) -> Restored:
    if os.environ.get("HEADWAY_REPLICA_TRUSTED") != "1":
        keeper.trainer.verify(whole)
    stored = {piece[0]: piece for piece in whole.pieces}
    own = stored.get(collect.document_name(keeper.place.rank))
    if own is None:
        raise Mismatch(f"{whole.slot.path}: without this rank's state")
    text = bytes(memoryview(whole.slot)[own[4] : own[5]])
    document = _parse(text, whole.slot.path)
    targets = _model_targets(keeper, document)
    for name, live in targets.items():
        _check_fits(name, live, stored)
    slot = keeper.trainer.adopt(whole, spare) if _may_adopt(keeper, targets) else None
    memory = slot if slot is not None else whole.slot

    def at(name: str) -> torch.Tensor:
        _, dtype, shape, offsets, begin, _end = stored[name]
        return view(memory, Piece(name, dtype, tuple(shape), tuple(offsets)), begin)

    replaced: list[torch.Tensor] = []
    with torch.no_grad():
        for name, live in targets.items():
            taken = at(name)
            if slot is not None and _is_adoptable(live):
                replaced.append(live.data)
                live.data = taken
            else:
                _local(live).copy_(taken)
    adopted = len(replaced)
    threading.Thread(target=_let_go, args=(replaced,)).start()

    def fetch(name: str) -> torch.Tensor:
        taken = at(name) if slot is not None else at(name).clone()
        return _as_state_of(keeper, name, taken)

    _load_rest(keeper, document, fetch, whole.world_size)
    return Restored(
        whole.step, whole.data, "replica" if adopted else "replica-copy", _cadence(document)
    )


def _let_go(tensors: list[torch.Tensor]) -> None:
    """The memory that a model was made with goes back beside the training that now has another: the
    system takes a tenth of a second a GiB for it, with the interpreter's lock held. No daemon: one
    that is stopped while it frees a tensor takes the whole process with it."""
    threading.main_thread().join(LET_GO_AFTER_S)  # for the restore to end, or at once at the exit
    while tensors:
        tensors.pop()
        time.sleep(0.001)


def _as_state_of(keeper: Checkpointer, name: str, local: torch.Tensor) -> torch.Tensor:
    """The optimizer's state of a parameter that is spread over ranks is spread like it."""
    part = keeper.parts.get("optimizer")
    like = part.like(name) if isinstance(part, OptimizerPart) else None
    if like is None or not is_dtensor(like) or local.shape != like.to_local().shape:
        return local
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        local.to(like.to_local().device),
        like.device_mesh,
        like.placements,
        run_check=False,
        shape=like.shape,
        stride=like.stride(),
    )


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return place("", tensor).local


def _check_fits(name: str, live: torch.Tensor, stored: dict[str, Any]) -> None:
    wanted = place(name, live).piece
    found = stored.get(name)
    if found is None:
        raise Mismatch(f"model: {name} is not in the replica")
    if (found[1], tuple(found[2]), tuple(found[3])) != wanted[1:]:
        raise Mismatch(
            f"model: {name} is {wanted.dtype} {list(wanted.shape)}, saved was {found[1]} {found[2]}"
        )


def _is_adoptable(live: torch.Tensor) -> bool:
    """Alone in its memory, on the processor: nobody else would go on using the old one."""
    return (
        type(live) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
        and live.device.type == "cpu"
        and live.is_contiguous()
        and live.grad is None
        and live.untyped_storage().nbytes() == live.numel() * live.element_size()
    )


def _may_adopt(keeper: Checkpointer, targets: dict[str, torch.Tensor]) -> bool:
    part = keeper.parts.get("model")
    untouched = isinstance(part, ModelPart) and part.given is part.model
    return untouched and any(_is_adoptable(live) for live in targets.values())


# ---- from disk


def _from_disk(keeper: Checkpointer, candidate: choose.Candidate) -> Restored:
    from headway import _replica

    reader = _replica.Reader(os.path.join(keeper.folder, candidate.name))
    saved_ranks = reader.world_size
    rank = keeper.place.rank if keeper.place.rank < saved_ranks else 0
    tensors = {name: (dtype, shape) for name, dtype, shape in reader.tensors()}
    own = collect.document_name(rank)
    if own not in tensors:
        raise Mismatch(f"{reader.path}: without the state of rank {rank}")
    text = torch.empty(tensors[own][1], dtype=torch.uint8)
    reader.read([(own, [0], list(text.shape), text.data_ptr())], 1)
    document = _parse(bytes(text.numpy()), reader.path)
    targets = _model_targets(keeper, document)
    names = set(_tensor_names(document["parts"])) - set(targets)
    fetched = {name: _allocate(keeper, name, tensors) for name in names if name in tensors}
    wants, after = [], []
    for name, tensor in [*targets.items(), *fetched.items()]:
        piece = place(name, tensor)
        found = tensors.get(name)
        if found is None or (found[0], tuple(found[1])) != (piece.piece.dtype, tuple(tensor.shape)):
            wanted = f"{piece.piece.dtype} {list(tensor.shape)}"
            was = "nothing" if found is None else f"{found[0]} {list(found[1])}"
            raise Mismatch(f"{name}: {wanted} is wanted, saved was {was}")
        memory = piece.local
        if memory.device.type != "cpu" or not memory.is_contiguous():
            memory = torch.empty(memory.shape, dtype=memory.dtype)
            after.append((piece.local, memory))
        offsets, shape = list(piece.piece.offsets), list(piece.piece.shape)
        wants.append((name, offsets, shape, memory.data_ptr()))
    reader.read(wants, where.threads(keeper.place.local_world_size))
    with torch.no_grad():
        for tensor, memory in after:
            tensor.copy_(memory)
    _load_rest(keeper, document, {**fetched, **targets}.__getitem__, saved_ranks)
    return Restored(reader.step, reader.data, candidate.tier, _cadence(document))


def _tensor_names(coded: Any) -> list[str]:
    if isinstance(coded, list):
        return [name for item in coded for name in _tensor_names(item)]
    if not isinstance(coded, dict):
        return []
    names = [coded[tag] for tag in ("$tensor", "$array") if isinstance(coded.get(tag), str)]
    return names + [name for item in coded.values() for name in _tensor_names(item)]


def _allocate(keeper: Checkpointer, name: str, tensors: dict[str, Any]) -> torch.Tensor:
    dtype, shape = tensors[name]
    part = keeper.parts.get("optimizer")
    like = part.like(name) if isinstance(part, OptimizerPart) else None
    if like is not None and tuple(like.shape) == tuple(shape):
        return torch.empty_like(like, dtype=TORCH_DTYPES[dtype], requires_grad=False)
    return torch.empty(shape, dtype=TORCH_DTYPES[dtype])
