"""What a saved state is put into: the document that it is told by, the live tensors that it goes
to, and the parts that get the rest."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from headway.checkpoint import collect, tagged
from headway.checkpoint import loader as loaders
from headway.checkpoint.errors import (
    CheckpointDamagedError,
    CheckpointError,
    CheckpointMismatchError,
)
from headway.checkpoint.parts import ModelPart, OptimizerPart, StatefulPart
from headway.checkpoint.tensors import TORCH_DTYPES, is_dtensor

if TYPE_CHECKING:
    from headway.checkpoint.checkpointer import Checkpointer


NAMED_MAX = 3  # of what is missing
MISFIT = "optimizer that does not fit"  # a key that no document is saved with


class Restored(NamedTuple):
    step: int
    data: int
    tier: str
    cadence: list[float]
    by_peers: bool = False  # of some ranks nothing was left in memory: others served them
    durable: int | None = None  # this step, if it is on disk, else the newest that is


def parse(text: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointDamagedError(f"{where}: its state is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("version") != collect.DOCUMENT_VERSION:
        raise CheckpointError(f"{where}: its state is of a version that this one cannot read")
    if not isinstance(document.get("parts"), dict):
        raise CheckpointDamagedError(f"{where}: its state has no parts")
    return document


def cadence_of(document: dict[str, Any]) -> list[float]:
    found = document.get("cadence", [])
    good = isinstance(found, list) and all(isinstance(number, (int, float)) for number in found)
    return [float(number) for number in found] if good else []


def was_durable(document: dict[str, Any]) -> bool:
    """Some step had got to the disk when this one was saved."""
    return isinstance(document.get("durable"), int)


def model_targets(keeper: Checkpointer, document: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The model's live tensors by the name that each is stored under. Raises where a part or one of
    these was not saved and may not be missing, or the optimizer is another, before anything is
    changed. Another optimizer that may be missing is taken out of the document."""
    missing = [name for name in keeper.parts if name not in document["parts"]]
    targets: dict[str, torch.Tensor] = {}
    part, saved = keeper.parts.get("model"), document["parts"].get("model")
    if isinstance(part, ModelPart) and isinstance(saved, dict):
        for key, live in part.state().items():
            if not isinstance(live, torch.Tensor):
                continue
            entry = saved.get(key)
            if isinstance(entry, dict) and isinstance(entry.get("$tensor"), str):
                targets.setdefault(entry["$tensor"], live)
            else:
                missing.append(f"model.{key}")
    missing = [name for name in missing if not _may_be_missing(name, keeper.allow_missing)]
    if missing:
        raise CheckpointMismatchError(_not_saved(missing, bool(targets)))
    _without_misfit(keeper, document)
    return targets


def _without_misfit(keeper: Checkpointer, document: dict[str, Any]) -> None:
    part = keeper.parts.get("optimizer")
    if not isinstance(part, OptimizerPart) or "optimizer" not in document["parts"]:
        return
    problem = part.misfit(document["parts"]["optimizer"])
    if problem and not _may_be_missing("optimizer", keeper.allow_missing):
        raise CheckpointMismatchError(
            f'optimizer: {problem}; restore(allow_missing=["optimizer"]) keeps the weights and '
            "begins the optimizer anew"
        )
    if problem:
        del document["parts"]["optimizer"]
        document[MISFIT] = problem  # for load_rest() to tell


def _may_be_missing(name: str, allowed: Sequence[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


def _not_saved(missing: list[str], some_of_the_model: bool) -> str:
    more = f" and {len(missing) - NAMED_MAX} more" if len(missing) > NAMED_MAX else ""
    said = f"{', '.join(missing[:NAMED_MAX])}{more}: not in what was saved"
    roots = list(dict.fromkeys(".".join(name.split(".")[:2]) for name in missing))
    if len(roots) > NAMED_MAX or (missing[-1].startswith("model.") and not some_of_the_model):
        return said  # it is another model
    return f"{said}; to keep what is there now of it, restore(allow_missing={roots})"


def load_rest(
    keeper: Checkpointer,
    document: dict[str, Any],
    fetch: Callable[[str], torch.Tensor],
    saved_ranks: int,
) -> None:
    gone = [name for name in document["parts"] if name not in keeper.parts]
    if gone and keeper.place.rank == 0:
        warnings.warn(
            f"headway: saved and not restored, because the checkpointer is given none of this "
            f"name: {', '.join(gone)}",
            RuntimeWarning,
            stacklevel=5,
        )
    if MISFIT in document and keeper.place.rank == 0:
        warnings.warn(
            f"headway: optimizer is not restored and begins anew, as the script made it: "
            f"{document[MISFIT]}",
            RuntimeWarning,
            stacklevel=5,
        )
    for name, part in keeper.parts.items():
        if name not in document["parts"]:
            continue  # and it may be missing: model_targets()
        ranks = keeper.place.world_size
        if part.per_rank and saved_ranks != ranks:
            kept = ""
            if isinstance(part, StatefulPart) and loaders.is_resumable(part.thing):
                coded = document["parts"][name]
                whole = loaders.keep_epoch(part.thing, coded, saved_ranks, ranks)
                begins = "begins" if whole else "begins anew"
                kept = f"; the pass after epoch {loaders.epoch_of(part.thing)} {begins}"
            warnings.warn(
                f"headway: {name} is not restored: it was saved by {_ranks(saved_ranks)}, each its "
                f"own, and now there {'is' if ranks == 1 else 'are'} {ranks}{kept}",
                RuntimeWarning,
                stacklevel=5,
            )
            continue
        part.load(tagged.decode(document["parts"][name], fetch))


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"{count} ranks"


def parameter_of(keeper: Checkpointer, name: str) -> torch.Tensor | None:
    """Whose state in the optimizer is stored under this name."""
    part = keeper.parts.get("optimizer")
    return part.like(name) if isinstance(part, OptimizerPart) else None


def as_state_of(keeper: Checkpointer, name: str, local: torch.Tensor) -> torch.Tensor:
    """The optimizer's state of a parameter that is spread over ranks is spread like it."""
    like = parameter_of(keeper, name)
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


def tensor_names(coded: Any) -> list[str]:
    if isinstance(coded, list):
        return [name for item in coded for name in tensor_names(item)]
    if not isinstance(coded, dict):
        return []
    names = [coded[tag] for tag in ("$tensor", "$array") if isinstance(coded.get(tag), str)]
    if isinstance(parameter := coded.get("$parameter"), list) and len(parameter) == 2:
        names += [name for name in parameter[:1] if isinstance(name, str)]
    return names + [name for item in coded.values() for name in tensor_names(item)]


def allocate(keeper: Checkpointer, name: str, tensors: dict[str, Any]) -> torch.Tensor:
    dtype, shape = tensors[name]
    like = parameter_of(keeper, name)
    if like is not None and tuple(like.shape) == tuple(shape):
        return torch.empty_like(like, dtype=TORCH_DTYPES[dtype], requires_grad=False)
    return torch.empty(shape, dtype=TORCH_DTYPES[dtype])
