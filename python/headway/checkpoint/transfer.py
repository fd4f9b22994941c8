"""Bytes from the ranks that have them to the ranks that need them, over the group of agree.py.

Who gives what to whom is computed by every rank alike, and so is the order of all messages. Each
rank begins its own in that order, a few at a time: the first one in the order that is not over has
been begun by both of its ends, so something always moves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch

from headway.checkpoint.agree import Group
from headway.checkpoint.tensors import flat_bytes

MESSAGE_BYTES = 8 << 20
AT_ONCE = 8  # messages that one rank has begun, and buffers of that size where it needs them


class Deal(NamedTuple):
    source: int
    to: int
    what: int  # which of the things that are given
    size: int  # in bytes


class Message(NamedTuple):
    source: int
    to: int
    what: int
    begin: int
    end: int


class Nowhere(Exception):
    """(rank, what): what this rank needs nobody has."""


def share_out(wants: list[list[int]], has: list[bytes], sizes: list[int]) -> list[Deal]:
    """`wants` and `has` of each rank: which things it needs, and for each thing whether it has it.
    What a rank has itself it takes from itself, the rest from the one that gives the least yet."""
    given = [0] * len(has)
    deals = []
    for rank, things in enumerate(wants):
        for what in things:
            holders = [source for source, flags in enumerate(has) if flags and flags[what]]
            if not holders:
                raise Nowhere(rank, what)
            source = rank if rank in holders else min(holders, key=lambda one: (given[one], one))
            if source != rank:
                given[source] += sizes[what]
            deals.append(Deal(source, rank, what, sizes[what]))
    return deals


def messages(deals: list[Deal]) -> list[Message]:
    """In the order in which all are begun: every pair of ranks in turn."""
    turns: dict[tuple[int, int], int] = {}
    found = []
    for source, to, what, size in deals:
        for begin in range(0, size, MESSAGE_BYTES):
            turn = turns[source, to] = turns.get((source, to), 0) + 1
            end = min(begin + MESSAGE_BYTES, size)
            found.append((turn, Message(source, to, what, begin, end)))
    return [message for _, message in sorted(found, key=lambda one: one[0])]


class _Receiving:
    """Straight into the tensor where it is in memory, else by way of a buffer."""

    def __init__(self, group: Group, message: Message, target: torch.Tensor) -> None:
        self._target = flat_bytes(target)[message.begin : message.end]
        near = target.device.type == "cpu"
        self._buffer = None if near else torch.empty(len(self._target), dtype=torch.uint8)
        into = self._target if self._buffer is None else self._buffer
        self.work = group.receive(into, message.source)

    def put(self) -> None:
        if self._buffer is not None:
            self._target.copy_(self._buffer)


class _Sending:
    def __init__(self, group: Group, message: Message, source: torch.Tensor) -> None:
        self.work: Any = group.send(source[message.begin : message.end], message.to)

    def put(self) -> None:
        pass


def carry(
    group: Group,
    rank: int,
    order: list[Message],
    outgoing: Mapping[int, torch.Tensor],
    incoming: Mapping[int, torch.Tensor],
) -> str:
    """All ranks call it with the same order. `outgoing` are bytes in memory, `incoming` tensors in
    order on any device. What goes wrong on this rank is returned in the end: until then it goes on
    to take what the others send, so that none of them waits for it. A rank that is gone is an error
    at once, as everywhere in torch.distributed."""
    begun: deque[_Receiving | _Sending] = deque()
    problems: list[str] = []

    def attempt(put: Callable[[], Any]) -> None:
        try:
            put()
        except Exception as error:
            problems.append(f"{type(error).__name__}: {error}")

    def finish() -> None:
        one = begun.popleft()
        one.work.wait()
        attempt(one.put)

    for message in order:
        if message.source == message.to == rank:
            source = outgoing[message.what][message.begin : message.end]
            target = flat_bytes(incoming[message.what])[message.begin : message.end]
            attempt(partial(target.copy_, source))
        elif message.source == rank:
            begun.append(_Sending(group, message, outgoing[message.what]))
        elif message.to == rank:
            begun.append(_Receiving(group, message, incoming[message.what]))
        if len(begun) >= AT_ONCE:
            finish()
    while begun:
        finish()
    return problems[0] if problems else ""
