"""What a script gives a checkpointer, looked at before anything is done with it: parts, counts,
steps. What is wrong is said in one line that names it."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch

from headway.checkpoint import loader as loaders
from headway.checkpoint import tagged
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
        parts["model"] = ModelPart(model)
    if optimizer is not None:
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
    tagged.encode(values, "values", lambda path, tensor: path)
    return ValuesPart(values)


def check_count(name: str, count: Any) -> None:
    if count is not None and (not isinstance(count, int) or count < 1):
        raise CheckpointUsageError(f"checkpointer: {name}={count!r}: want a whole number above 0")


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
