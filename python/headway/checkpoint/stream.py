"""Saves without a replica: the training waits while its state goes straight to the disk, through
buffers of a fixed size. For states of which a second copy does not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch

from headway import _replica
from headway.checkpoint.agree import Group
from headway.checkpoint.device import Lanes
from headway.checkpoint.errors import CheckpointError
from headway.checkpoint.tensors import Piece, Placed, address_of, bytes_of, view
from headway.checkpoint.where import Place

BYTES = 256 << 20  # of memory that it may take
BYTES_MIN = 64 << 20
WRITER_BYTES = 32 << 20  # of these: what the engine fills and writes in turns
ALIGNMENT = 64  # of a tensor in the buffer


class NotSaved(CheckpointError):
    """The disk did not take it."""


class _Memory(bytearray):
    path = "stream"  # what Lanes knows it by


def _padded(piece: Piece) -> int:
    return -(-bytes_of(piece) // ALIGNMENT) * ALIGNMENT


class Bounce:
    """The buffer through which goes what the engine cannot reach: tensors on a device, or out of
    order. It is as large as that, and never larger than its bound: what does not fit is cut."""

    def __init__(self, lanes: Lanes, bytes_max: int) -> None:
        self._lanes = lanes
        self._room = (bytes_max - WRITER_BYTES) // ALIGNMENT * ALIGNMENT
        self._memory = _Memory()

    def batches(
        self, tensors: list[tuple[Piece, torch.Tensor]]
    ) -> Iterator[list[tuple[Piece, torch.Tensor]]]:
        """The tensors, bufferful by bufferful, each valid until the next. A file has a name once:
        so has a batch."""
        parts = [part for whole in tensors for part in _cut(*whole, self._room)]
        wanted = min(self._room, sum(_padded(piece) for piece, _ in parts))
        if len(self._memory) < wanted:
            self.release()
            self._memory = _Memory(wanted)
        batch: list[tuple[Piece, torch.Tensor]] = []
        used = 0
        for piece, tensor in parts:
            size = _padded(piece)
            if used + size > self._room or any(piece.name == other.name for other, _ in batch):
                yield self._copied(batch)
                batch, used = [], 0
            batch.append((piece, tensor))
            used += size
        if batch:
            yield self._copied(batch)

    def _copied(self, batch: list[tuple[Piece, torch.Tensor]]) -> list[tuple[Piece, torch.Tensor]]:
        begin, copies = 0, []
        for piece, _ in batch:
            copies.append((piece, view(self._memory, piece, begin)))
            begin += _padded(piece)
        pairs = [(copy, tensor) for (_, copy), (_, tensor) in zip(copies, batch, strict=True)]
        self._lanes.copy(self._memory, pairs)
        return copies

    def release(self) -> None:
        """Another way of saving is taken, or none any more."""
        self._lanes.release()
        self._memory = _Memory()


def _cut(
    piece: Piece, tensor: torch.Tensor, bytes_max: int
) -> Iterator[tuple[Piece, torch.Tensor]]:
    """Into parts of which each fits, along the first dimension that can be cut."""
    size = bytes_of(piece)
    if size <= bytes_max:
        yield piece, tensor
        return
    d = next(i for i, rows in enumerate(piece.shape) if rows > 1)
    rows = max(1, bytes_max // (size // piece.shape[d]))
    for row in range(0, piece.shape[d], rows):
        part = tensor.narrow(d, row, min(rows, piece.shape[d] - row))
        offsets = (*piece.offsets[:d], piece.offsets[d] + row, *piece.offsets[d + 1 :])
        yield from _cut(piece._replace(shape=tuple(part.shape), offsets=offsets), part, bytes_max)


def save(
    place: Place,
    folder: str,
    group: Group,
    pieces: list[tuple[Piece, bool]],
    tensors: list[Placed],
    step: int,
    data: int,
    now_ns: int,
    bounce: Bounce,
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
            entries = _write(path, place.rank, pieces, tensors, bounce)
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
    draft: str,
    rank: int,
    pieces: list[tuple[Piece, bool]],
    tensors: list[Placed],
    bounce: Bounce,
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
    for number, batch in enumerate(bounce.batches(far), 1):
        name = f"rank-{rank:05}-{number:05}.safetensors"
        entries.append(_write_file(draft, name, rank, batch))
    return entries


def _write_file(draft: str, name: str, rank: int, tensors: list[tuple[Piece, torch.Tensor]]) -> Any:
    addresses = [address_of(tensor) for _, tensor in tensors]
    return _replica.write_shard(draft, name, rank, [tuple(p) for p, _ in tensors], addresses)
