"""The state of a rank at one moment: a JSON document and the tensors that it names."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch

from headway.checkpoint import tagged
from headway.checkpoint.parts import Part
from headway.checkpoint.tensors import Piece, Placed, place

DOCUMENT_VERSION = 1
DOCUMENT_BYTES_MIN = 4096


def document_name(rank: int) -> str:
    """The tensor of bytes that holds a rank's document."""
    return f"headway.rank-{rank:05}"


def document_rank(name: str) -> int | None:
    """Whose document a tensor of this name is; None: it is none."""
    number = name.removeprefix("headway.rank-")
    return int(number) if number != name and number.isdecimal() else None


def ranks_of(names: Iterable[str]) -> int:
    """How many ranks saved a state that has tensors of these names: each left its document. The
    files may be those of another number of ranks, if the tensors were cut anew since."""
    return sum(document_rank(name) is not None for name in names)


class Collected(NamedTuple):
    document: dict[str, Any]
    tensors: dict[str, Placed]  # by name


class _Names:
    """Gives each tensor one name, and a tensor that is met twice the same one: tied weights are
    stored once, and are tied when they come back."""

    def __init__(self, rank: int) -> None:
        self.tensors: dict[str, Placed] = {}
        self._known: dict[Any, str] = {}
        self._rank = rank

    def of_part(self, part: Part) -> tagged.Store:
        def store(path: str, tensor: torch.Tensor) -> str:
            if not part.is_own(path):
                return self._store(path, tensor, False)
            # Rank 0's has the plain name, for those who look for the model in the file.
            own = path if self._rank == 0 else f"rank-{self._rank:05}.{path}"
            return self._store(own, tensor, True)

        return store

    def _store(self, path: str, tensor: torch.Tensor, own: bool) -> str:
        key: Any = id(tensor)
        placed = place(path, tensor)
        if own:
            placed = placed._replace(replicated=False, own=True)
        local = placed.local
        if local.numel() > 0 and local.device.type != "meta":
            key = (local.data_ptr(), local.device, local.dtype, local.shape, local.stride())
        if (known := self._known.get(key)) is not None:
            return known
        name, count = path, 1
        while name in self.tensors:
            count += 1
            name = f"{path}~{count}"
        if name != path:
            placed = placed._replace(piece=placed.piece._replace(name=name))
        self.tensors[name] = placed
        self._known[key] = name
        return name


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Thousands of small objects set off a search for garbage among all that torch has imported: a
    fifth of a second in which training would stand still, every few saves."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def collect(parts: Mapping[str, Part], rank: int) -> Collected:
    names = _Names(rank)
    coded: dict[str, Any] = {}
    with _no_collection():
        for name, part in parts.items():
            coded[name] = tagged.encode(part.state(), name, names.of_part(part))
    return Collected({"version": DOCUMENT_VERSION, "parts": coded}, names.tensors)


def to_bytes(document: dict[str, Any], capacity: int) -> torch.Tensor:
    """Padded with spaces, which JSON does not mind: so that the layout stays while numbers grow."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    while capacity < len(text):
        capacity *= 2
    return torch.frombuffer(bytearray(text.ljust(capacity)), dtype=torch.uint8)


def document_piece(rank: int, capacity: int) -> Piece:
    return Piece(document_name(rank), "U8", (capacity,), (0,))


def owners(pieces: Mapping[str, Placed], ranks: int) -> dict[str, int]:
    """Who writes what all ranks have: shared out evenly, by the same rule on each of them."""
    load = [0] * ranks
    owner: dict[str, int] = {}
    shared = [(p.local.numel() * p.local.element_size(), n) for n, p in pieces.items()]
    for size, name in sorted(shared, key=lambda item: (-item[0], item[1])):
        least = load.index(min(load))
        owner[name] = least
        load[least] += size
    return owner
