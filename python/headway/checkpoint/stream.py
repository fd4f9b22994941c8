"""Saves without a replica: the training waits while its state goes straight to the disk, through a
buffer of a few megabytes. For states of which a second copy does not fit into memory."""

from __future__ import annotations

import os
from typing import Any

import torch

from headway import _replica
from headway.checkpoint.agree import Group
from headway.checkpoint.errors import CheckpointError
from headway.checkpoint.tensors import Piece, Placed, address_of
from headway.checkpoint.where import Place

FOREIGN_BYTES = 192 << 20  # of tensors that torch has to copy first, at once


class NotSaved(CheckpointError):
    """The disk did not take it."""


def save(
    place: Place,
    folder: str,
    group: Group,
    pieces: list[tuple[Piece, bool]],
    tensors: list[Placed],
    step: int,
    data: int,
    now_ns: int,
) -> str:
    """Durable when it returns. All ranks call it; where one fails all raise and nothing is left.
    The checkpoint's name, on rank 0."""
    draft, problem, name = None, "", ""
    if place.rank == 0:
        try:
            draft = _replica.Draft(
                folder, step, place.world_size, place.job, data, place.attempt, now_ns
            )
        except Exception as error:
            problem = str(error)
    path, problem = group.first_says_this((draft.path if draft is not None else "", problem))
    entries: list[Any] = []
    if not problem:
        try:
            entries = _write(path, place.rank, pieces, tensors)
        except Exception as error:
            problem = str(error)
    said = group.gather((entries, problem))
    problem = next((problem for _, problem in said if problem), "")
    if draft is not None and not problem:
        try:
            for entries, _ in said:
                for entry in entries:
                    draft.take(entry)
            name = os.path.basename(draft.commit())
        except Exception as error:
            problem = str(error)
    problem = group.first_says_this(problem)
    if problem:
        raise NotSaved(f"checkpointer: step {step} is not saved: {problem}")
    return name


def _write(
    draft: str, rank: int, pieces: list[tuple[Piece, bool]], tensors: list[Placed]
) -> list[Any]:
    """What the engine can reach goes into one file; the rest into others, a bufferful each."""
    own = [
        (piece, placed.local)
        for (piece, is_own), placed in zip(pieces, tensors, strict=True)
        if is_own
    ]
    near = [(p, t) for p, t in own if t.numel() == 0 or address_of(t)]
    far = [(p, t) for p, t in own if t.numel() > 0 and not address_of(t)]
    entries = [_write_file(draft, f"rank-{rank:05}.safetensors", rank, near)]
    number = 0
    while far:
        batch, size = [], 0
        while far and (not batch or size + _bytes(far[0][1]) <= FOREIGN_BYTES):
            piece, tensor = far.pop(0)
            size += _bytes(tensor)
            batch.append((piece, tensor.detach().resolve_conj().cpu().contiguous()))
        number += 1
        name = f"rank-{rank:05}-{number:05}.safetensors"
        entries.append(_write_file(draft, name, rank, batch))
    return entries


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _write_file(draft: str, name: str, rank: int, tensors: list[tuple[Piece, torch.Tensor]]) -> Any:
    addresses = [address_of(tensor) for _, tensor in tensors]
    return _replica.write_shard(draft, name, rank, [tuple(p) for p, _ in tensors], addresses)
