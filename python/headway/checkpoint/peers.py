"""Ranks that have nothing of a step get it from those that have: the replacement of a machine that
was lost, or another number of ranks.

A rank needs its document (what nobody else has: guests.py keeps it on another machine) and the
tensors that it names. Those are found by what they are, name, type, shape and place in the whole,
on any rank that has the step: whole tensors of data-parallel ranks, the same shard of another
group of ranks. A shard that only the lost machine had is nowhere, and the disk has to serve.

Every rank comes to every exchange, whatever goes wrong on it: problems are gathered with the rest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from headway.checkpoint import choose, collect, live, transfer
from headway.checkpoint.errors import CheckpointError, CheckpointMismatchError
from headway.checkpoint.live import Restored
from headway.checkpoint.tensors import Piece, bytes_of, is_dtensor, place

if TYPE_CHECKING:
    from headway.checkpoint.checkpointer import Checkpointer


class Incomplete(CheckpointError):
    """Something of this step is in nobody's memory: it never was a state to go on from."""


class Image:
    """A whole step of one rank in this machine's memory. Raises where it cannot be read."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.rank, self.ranks = int(whole.rank), int(whole.world_size)
        self.key: choose.Key = (whole.attempt, whole.step, self.ranks)
        self.pieces: dict[str, Piece] = {}
        self.places: dict[str, tuple[int, int]] = {}
        for name, dtype, shape, offsets, begin, end in whole.pieces:
            self.pieces[name] = Piece(name, dtype, tuple(shape), tuple(offsets))
            self.places[name] = begin, end
        found = (collect.document_rank(name) for name in self.pieces)
        self.documents = tuple(sorted(rank for rank in found if rank is not None))

    def offer(self) -> choose.Staged:
        attempt, step, ranks = self.key
        return choose.Staged(attempt, step, self.whole.time_ns, self.rank, ranks, self.documents)

    def bytes_at(self, name: str) -> torch.Tensor:
        begin, end = self.places[name]
        if begin == end:
            return torch.empty(0, dtype=torch.uint8)
        return torch.frombuffer(self.whole.slot, dtype=torch.uint8, count=end - begin, offset=begin)

    def text_of(self, rank: int) -> bytes | None:
        """That rank's document, if it is here."""
        name = collect.document_name(rank)
        return bytes(self.bytes_at(name).numpy()) if name in self.pieces else None


class Said(NamedTuple):
    """What a rank has of a step."""

    has: bool  # its own replica
    documents: set[int]
    problem: str  # with something that it has


class Served(NamedTuple):
    """What a rank has got."""

    data: int
    document: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    after: list[tuple[torch.Tensor, torch.Tensor]]  # still to be copied: from the second
    from_others: bool


class _Wants(NamedTuple):
    data: int
    document: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    into: dict[Piece, torch.Tensor]  # memory in order
    after: list[tuple[torch.Tensor, torch.Tensor]]


def serve(
    keeper: Checkpointer, candidate: choose.Candidate, images: list[Image], said: list[Said]
) -> Served | None:
    """All ranks call it. None for those that have their own. The model's tensors get their bytes
    here, but for those in `after`. Raises on all ranks where it does not come to an end."""
    hungry = [rank for rank, one in enumerate(said) if not one.has]
    letter = _letters(keeper, candidate, images, said, hungry)
    wants, problem = None, None
    if letter is not None:
        try:
            wants = _wants(keeper, candidate, letter)
        except CheckpointError as error:
            problem = error
        except Exception as error:
            problem = CheckpointError(f"{type(error).__name__}: {error}")
    lists = keeper.group.gather(([*wants.into] if wants else [], problem))
    _raise_first(problem for _, problem in lists)
    things = list(dict.fromkeys(Piece(*piece) for pieces, _ in lists for piece in pieces))
    number = {piece: i for i, piece in enumerate(things)}
    places = {piece: image for image in images for piece in image.pieces.values()}
    has = keeper.group.gather(bytes(piece in places for piece in things) if images else b"")
    try:
        deals = transfer.share_out(
            [[number[Piece(*piece)] for piece in pieces] for pieces, _ in lists],
            has,
            [bytes_of(piece) for piece in things],
        )
    except transfer.Nowhere as error:
        rank, what = error.args
        raise Incomplete(_missing(things[what], rank)) from None
    rank = keeper.place.rank
    outgoing = {
        deal.what: places[things[deal.what]].bytes_at(things[deal.what].name)
        for deal in deals
        if deal.source == rank
    }
    incoming = {number[piece]: memory for piece, memory in wants.into.items()} if wants else {}
    failed = _carry(keeper, deals, outgoing, incoming)
    _raise_first(CheckpointError(text) if text else None for text in keeper.group.gather(failed))
    if wants is None:
        return None
    from_others = any(deal.to == rank != deal.source for deal in deals)
    return Served(wants.data, wants.document, wants.tensors, wants.after, from_others)


def put(keeper: Checkpointer, candidate: choose.Candidate, served: Served) -> Restored:
    """What was got, into the rest of what is live."""
    with torch.no_grad():
        for tensor, memory in served.after:
            tensor.copy_(memory)
    live.load_rest(keeper, served.document, served.tensors.__getitem__, candidate.ranks)
    tier = "peer" if served.from_others else "replica-copy"
    cadence = live.cadence_of(served.document)
    return Restored(candidate.step, served.data, tier, cadence, by_peers=True)


def _letters(
    keeper: Checkpointer,
    candidate: choose.Candidate,
    images: list[Image],
    said: list[Said],
    hungry: list[int],
) -> bytes | None:
    """To each rank that needs one its document, with a list of what there is beside it."""
    documents = sorted({d for one in said for d in one.documents})
    number = {document: i for i, document in enumerate(documents)}
    wanted = {rank: choose.document_for(rank, candidate.ranks) for rank in hungry}
    for rank, document in wanted.items():
        if document not in number:
            raise Incomplete(f"what rank {rank} had of its own is in no memory that is left")
    deals = transfer.share_out(
        [[number[wanted[rank]]] if rank in wanted else [] for rank in range(len(said))],
        [bytes(document in one.documents for document in documents) for one in said],
        [1] * len(documents),
    )
    rank = keeper.place.rank
    outgoing = {
        deal.what: _letter(documents[deal.what], images) for deal in deals if deal.source == rank
    }
    sizes: dict[tuple[int, int], int] = {}
    for source, said_sizes in enumerate(
        keeper.group.gather({what: len(text) for what, text in outgoing.items()})
    ):
        sizes |= {(source, what): size for what, size in said_sizes.items()}
    deals = [deal._replace(size=sizes[deal.source, deal.what]) for deal in deals]
    incoming = {
        deal.what: torch.empty(deal.size, dtype=torch.uint8) for deal in deals if deal.to == rank
    }
    _carry(keeper, deals, outgoing, incoming)
    for memory in incoming.values():
        return bytes(memory.numpy())
    return None


def _letter(document: int, images: list[Image]) -> torch.Tensor:
    image = next(image for image in images if document in image.documents)
    text = (image.text_of(document) or b"").decode(errors="replace").rstrip()
    letter = {"data": image.whole.data, "document": text, "pieces": [*image.pieces.values()]}
    coded = json.dumps(letter, separators=(",", ":"), ensure_ascii=False).encode()
    return torch.frombuffer(bytearray(coded), dtype=torch.uint8)


def _wants(keeper: Checkpointer, candidate: choose.Candidate, text: bytes) -> _Wants:
    """The live tensors that are to be filled, and which piece of the state each of them is."""
    letter = json.loads(text)
    there = {n: Piece(n, d, tuple(shape), tuple(at)) for n, d, shape, at in letter["pieces"]}
    document = live.parse(letter["document"].encode(), f"step {candidate.step} in memory")
    targets = live.model_targets(keeper, document)
    for name, tensor in targets.items():
        _check_like(name, tensor, there)
    elsewhere = candidate.ranks != keeper.place.world_size
    parts = [
        coded
        for name, coded in document["parts"].items()
        if name in keeper.parts and not (elsewhere and keeper.parts[name].per_rank)
    ]
    tensors = dict(targets)
    into: dict[Piece, torch.Tensor] = {}
    after: list[tuple[torch.Tensor, torch.Tensor]] = []
    for name in live.tensor_names(parts):
        if name not in tensors:
            tensors[name] = _allocate(keeper, name, there)
    for name, tensor in tensors.items():
        piece, local = place(name, tensor)[:2]
        if name not in targets and not is_dtensor(tensor):
            piece = there[name]
        if not local.is_contiguous():
            memory = torch.empty(local.shape, dtype=local.dtype)
            after.append((local, memory))
            local = memory
        into[piece] = local
    return _Wants(letter["data"], document, tensors, into, after)


def _check_like(name: str, tensor: torch.Tensor, there: dict[str, Piece]) -> None:
    """A tensor that is not spread over ranks has to be saved as it is now."""
    wanted, found = place(name, tensor).piece, there.get(name)
    if found is not None and not is_dtensor(tensor) and found != wanted:
        raise CheckpointMismatchError(
            f"model: {name} is {wanted.dtype} {list(wanted.shape)}, saved was {found.dtype} "
            f"{list(found.shape)}"
        )


def _allocate(keeper: Checkpointer, name: str, there: dict[str, Piece]) -> torch.Tensor:
    """Where the document is there are also pieces of everything that it names: if not the same as
    this rank had, then of the same type, and a scalar is a scalar."""
    piece = there.get(name)
    if piece is None:
        raise CheckpointMismatchError(f"{name}: is not beside the document that names it")
    shape = piece.shape
    like = live.parameter_of(keeper, name)
    if like is not None and is_dtensor(like) and like.dim() == len(shape):
        shape = tuple(like.shape)
    return live.allocate(keeper, name, {name: (piece.dtype, shape)})


def _carry(
    keeper: Checkpointer,
    deals: list[transfer.Deal],
    outgoing: dict[int, torch.Tensor],
    incoming: dict[int, torch.Tensor],
) -> str:
    order = transfer.messages(deals)
    return transfer.carry(keeper.group, keeper.place.rank, order, outgoing, incoming)


def _missing(piece: Piece, rank: int) -> str:
    what = piece.name
    if math.prod(piece.shape) and any(piece.offsets):
        what += f" from {list(piece.offsets)} on"
    return f"{what}, which rank {rank} needs, is in no memory that is left"


def _raise_first(problems: Iterable[CheckpointError | None]) -> None:
    for problem in problems:
        if problem is not None:
            raise problem
