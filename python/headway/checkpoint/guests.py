"""What a rank has of its own, kept by a rank of another machine as well.

Parameters of data-parallel ranks are everywhere, but the random numbers, the place in the data and
the buffers of a rank would be gone with its machine. So each rank has a guest: beside its own state
it keeps a copy of these of one rank on another machine, under their true names, in memory only. The
ranks stand in a ring, each sends to one and receives from one, with every save that takes place.
Jobs on one machine have no guests.

All ranks call meet() and take() at the same steps, from the training thread.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import Any

import torch

from headway.checkpoint.agree import Group
from headway.checkpoint.errors import CheckpointError
from headway.checkpoint.tensors import TORCH_DTYPES, Piece, Placed, bytes_of, size_text
from headway.checkpoint.where import Place

GUEST_BYTES_MAX = 64 << 20  # of what one rank has of its own
LIST_BYTES_MAX = 64 << 20  # of names, types and shapes
ALIGNMENT = 16  # of each tensor among the bytes that are sent


def ring(rank: int, local_sizes: list[int]) -> tuple[int, int]:
    """To whom this rank sends, and from whom it receives: ranks of other machines. Where machines
    have different numbers of ranks, a few may find one of their own."""
    ranks, shift = len(local_sizes), max(local_sizes)
    return (rank + shift) % ranks, (rank - shift) % ranks


def _layout(pieces: list[Piece]) -> tuple[list[tuple[int, int]], int]:
    """Where each lies among the bytes, and how many there are."""
    places, at = [], 0
    for piece in pieces:
        size = bytes_of(piece)
        places.append((at, at + size))
        at += -(-size // ALIGNMENT) * ALIGNMENT
    return places, at


class _Bundle:
    """One rank's tensors as one run of bytes."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.text = json.dumps(pieces, separators=(",", ":")).encode()
        self.digest = int.from_bytes(hashlib.blake2b(self.text, digest_size=7).digest(), "big")
        self.pieces = pieces
        places, size = _layout(pieces)
        self.memory = torch.empty(size, dtype=torch.uint8)
        self.views = [
            self.memory[begin:end].view(TORCH_DTYPES[piece.dtype]).view(piece.shape)
            for piece, (begin, end) in zip(pieces, places, strict=True)
        ]


class Guests:
    """`on`: this job has some. Made by all ranks at the same time."""

    def __init__(self, place: Place, group: Group) -> None:
        self.on = place.world_size != place.local_world_size and not group.alone
        self._group = group
        self._rank = place.rank
        self._own: list[Placed] = []
        self._sent = self._kept = _Bundle([])
        self._told = False
        if self.on:
            sizes = group.gather(place.local_world_size)
            self._to, self._from = ring(place.rank, sizes)

    def meet(self, tensors: list[Placed]) -> list[Placed]:
        """The guest's tensors, to be saved beside these. Their bytes come with take()."""
        if not self.on:
            return []
        self._own = self._few_enough([placed for placed in tensors if placed.own])
        pieces = [placed.piece for placed in self._own]
        known = self._sent
        if pieces != known.pieces:
            self._sent = _Bundle(pieces)
        out = torch.tensor([self._sent.digest, len(self._sent.text)])
        there = torch.empty_like(out)
        self._group.swap(out, self._to, there, self._from)
        digest, size = (int(number) for number in there)
        if not 0 <= size <= LIST_BYTES_MAX:
            raise CheckpointError(
                f"checkpointer: rank {self._from} says that its list has {size} B"
            )
        new_here, new_there = self._sent.digest != known.digest, digest != self._kept.digest
        text = torch.empty(size, dtype=torch.uint8)
        self._group.swap(
            torch.frombuffer(bytearray(self._sent.text), dtype=torch.uint8) if new_here else None,
            self._to,
            text if new_there else None,
            self._from,
        )
        if new_there:
            self._kept = _Bundle(_parse(text))
        return [
            Placed(piece, view, replicated=False, first=False)
            for piece, view in zip(self._kept.pieces, self._kept.views, strict=True)
        ]

    def take(self) -> None:
        """The bytes of the tensors that meet() was about, when all ranks have agreed to save."""
        if not self.on:
            return
        for view, placed in zip(self._sent.views, self._own, strict=True):
            view.copy_(placed.local)
        sent, kept = self._sent.memory, self._kept.memory
        self._group.swap(
            sent if sent.numel() > 0 else None,
            self._to,
            kept if kept.numel() > 0 else None,
            self._from,
        )

    def _few_enough(self, own: list[Placed]) -> list[Placed]:
        _, size = _layout([placed.piece for placed in own])
        if size <= GUEST_BYTES_MAX:
            return own
        if not self._told:
            warnings.warn(
                f"headway: rank {self._rank} has {size_text(size)} that no other rank has, more "
                f"than the {size_text(GUEST_BYTES_MAX)} that another machine keeps for it: if this "
                "one is lost, the job goes on from the disk",
                RuntimeWarning,
                stacklevel=5,
            )
        self._told = True
        return []


def _parse(text: torch.Tensor) -> list[Piece]:
    listed: list[Any] = json.loads(bytes(text.numpy()))
    return [Piece(n, dtype, tuple(shape), tuple(offsets)) for n, dtype, shape, offsets in listed]
