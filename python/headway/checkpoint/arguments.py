"""What a script gives a checkpointer, looked at before anything is done with it: parts, counts,
steps. What is wrong is said in one line that names it."""

from __future__ import annotations

import difflib
import math
import operator
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import torch

from headway.checkpoint import loader as loaders
from headway.checkpoint import stream, tagged
from headway.checkpoint.errors import CheckpointUsageError
from headway.checkpoint.parts import (
    ModelPart,
    OptimizerPart,
    Part,
    RngPart,
    StatefulPart,
    ValuesPart,
    is_plain_optimizer,
    is_stateful,
)
from headway.checkpoint.tensors import place

STEP_MAX = (1 << 53) - 1  # as the record of a job has them


def make_parts(
    model: torch.nn.Module | None,
    optimizer: Any,
    loader: Any,
    values: dict[str, Any] | None,
    others: dict[str, Any],
    options: Iterable[str],
) -> dict[str, Part]:
    """`others` may be misspelt `options`."""
    parts: dict[str, Part] = {}
    if model is not None:
        _check_model(model)
        parts["model"] = ModelPart(model)
    if optimizer is not None:
        _check_optimizer(optimizer)
        plain = is_plain_optimizer(optimizer)
        parts["optimizer"] = (
            OptimizerPart(optimizer, model) if plain else StatefulPart("optimizer", optimizer)
        )
    if loader is not None:
        parts["loader"] = _loader_part("loader", loader)
    if not (parts or others or values is not None):
        raise CheckpointUsageError(
            "checkpointer: nothing is named that could be saved: give it model= and optimizer="
        )
    for name, thing in others.items():
        if not name.isidentifier() or name in ("model", "optimizer", "loader", "values", "rng"):
            raise CheckpointUsageError(f"checkpointer: {name!r} cannot be the name of a part")
        if loaders.is_plain(thing):
            parts[name] = _loader_part(name, thing)
            continue
        near = difflib.get_close_matches(name, options, 1)
        if near and not is_stateful(thing):
            raise CheckpointUsageError(
                f"checkpointer: no option {name!r}; did you mean {near[0]!r}?"
            )
        parts[name] = StatefulPart(name, thing)
    if values is not None:
        parts["values"] = _values_part(values)
    parts["rng"] = RngPart()
    return parts


def _check_model(model: Any) -> None:
    if isinstance(model, torch.nn.Module):
        return
    hint = "an nn.Module"
    if isinstance(model, torch.optim.Optimizer):
        hint += "; an optimizer is given as optimizer="
    elif isinstance(model, Mapping):
        hint += " itself, and not its state_dict()"
    raise CheckpointUsageError(f"checkpointer: model={_short(model)}: want {hint}")


def _check_optimizer(optimizer: Any) -> None:
    if isinstance(optimizer, torch.nn.Module):
        raise CheckpointUsageError(
            f"checkpointer: optimizer={_short(optimizer)}: that is a module; it is given as model="
        )
    if not is_stateful(optimizer):
        hint = " itself, and not its state_dict()" if isinstance(optimizer, Mapping) else ""
        raise CheckpointUsageError(
            f"checkpointer: optimizer={_short(optimizer)}: want an optimizer{hint}"
        )


def _short(thing: Any) -> str:
    """Of what was given, enough to find it in the script."""
    plain = isinstance(thing, (str, int, float, type(None)))
    return repr(thing)[:80] if plain else f"a {type(thing).__name__}"


def folder_of(given: Any) -> str:
    try:
        folder = os.fspath(given)
    except TypeError:
        folder = ""
    if not isinstance(folder, str) or not folder:
        raise CheckpointUsageError(
            f"checkpointer: folder={_short(given)}: want the path of the folder to save into"
        )
    folder = os.path.abspath(folder)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise CheckpointUsageError(
            f"checkpointer: {folder} is a file: want the path of the folder to save into"
        )
    if os.path.exists(os.path.join(folder, "MANIFEST.json")):
        raise CheckpointUsageError(
            f"checkpointer: {folder} is a checkpoint; name the folder it is in: "
            f"{os.path.dirname(folder)}"
        )
    return folder


def _loader_part(name: str, loader: Any) -> StatefulPart:
    if loaders.is_plain(loader):
        loader = loaders.resumable(loader)
    return StatefulPart(name, loader, per_rank=True)


def _values_part(values: Any) -> ValuesPart:
    """What cannot be saved is said now and not hours later, at the first save. Other parts may not
    have their state yet: they are looked at after the first step."""
    if not isinstance(values, dict):
        raise CheckpointUsageError(
            f"checkpointer: values={type(values).__name__}: want a dictionary, which restore() "
            "fills in place"
        )
    tagged.encode(values, "values", lambda path, tensor: place(path, tensor).piece.name)
    return ValuesPart(values)


def _check_count(name: str, count: Any) -> None:
    whole = isinstance(count, int) and not isinstance(count, bool)
    if count is not None and (not whole or count < 1):
        raise CheckpointUsageError(f"checkpointer: {name}={count!r}: want a whole number above 0")


def check_cadence(every: Any, stage: Any, min_s: Any, max_s: Any, staging: Any = "auto") -> None:
    _check_count("every_steps", every)
    _check_count("stage_steps", stage)
    if stage is not None and staging == "stream":
        raise CheckpointUsageError(
            f'checkpointer: stage_steps={stage} with staging="stream" does nothing: there is no '
            "memory to stage into; leave out one of the two"
        )
    if stage is not None and every is None:
        raise CheckpointUsageError(
            f"checkpointer: stage_steps={stage} without every_steps does nothing: how often to "
            "save is tuned then, into memory as well"
        )
    if stage is not None and stage > every:
        raise CheckpointUsageError(
            f"checkpointer: stage_steps={stage} is more than every_steps={every}: what gets to the "
            "disk goes through memory"
        )
    for name, seconds in (("min_seconds", min_s), ("max_seconds", max_s)):
        if not _is_number(seconds) or not seconds >= 0:
            raise CheckpointUsageError(f"checkpointer: {name}={seconds!r}: want seconds, from 0 on")
    if min_s > max_s:
        raise CheckpointUsageError(
            f"checkpointer: min_seconds={min_s} is more than max_seconds={max_s}"
        )


def check_kept(name: str, given: Any, whole: bool = True) -> None:
    good = _is_number(given) and given >= 0 and math.isfinite(given)
    if not good or (whole and not isinstance(given, int)):
        number = "whole number" if whole else "number"
        raise CheckpointUsageError(f"checkpointer: {name}={given!r}: want a {number} from 0 on")


def check_stream_bytes(given: Any) -> None:
    whole = isinstance(given, int) and not isinstance(given, bool)
    if not whole or given < stream.BYTES_MIN:
        raise CheckpointUsageError(
            f"checkpointer: stream_bytes={given!r}: want a whole number of bytes, from "
            f"{stream.BYTES_MIN} (64 MiB) on"
        )


def _is_number(given: Any) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool)


def check_tables(tables: Sequence[Any]) -> None:
    if isinstance(tables, torch.Tensor):
        raise CheckpointUsageError("checkpointer: tables= is one tensor: want a list, [parameter]")
    for table in tables:
        if not isinstance(table, torch.Tensor):
            raise CheckpointUsageError(
                f"checkpointer: tables= has {_short(table)}: want parameters, as in "
                "[model.embedding.weight]"
            )


def whole_number(call: str, name: str, given: Any) -> int:
    """A step, or a position in the data; numpy's and torch's whole numbers will do."""
    try:
        number = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = -1
    if not 0 <= number <= STEP_MAX:
        raise CheckpointUsageError(
            f"checkpointer: {call}: {name} is {given!r}: want a whole number from 0 on"
        )
    return number


def missing_names(given: str | Collection[str], parts: Mapping[str, Part]) -> tuple[str, ...]:
    """Of restore(allow_missing=): parts, or what is below one (`model.head`)."""
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not isinstance(name, str) or name.partition(".")[0] not in parts:
            raise CheckpointUsageError(
                f"checkpointer: allow_missing names {name!r}; there are {', '.join(parts)}"
            )
    return names
