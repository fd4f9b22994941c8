"""How the ranks of a job agree: by torch.distributed, which is there before a model is restored."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist

from headway.checkpoint.errors import CheckpointUsageError


def _together() -> bool:
    if dist.is_available() and dist.is_initialized():
        return bool(dist.get_world_size() > 1)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise CheckpointUsageError(
            "checkpointer: the ranks have to agree on a step; call "
            "torch.distributed.init_process_group() before"
        )
    return False


def _gather(value: Any, group: Any = None) -> list[Any]:
    said: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(said, value, group=group)
    return said


def _broadcast(value: Any, group: Any = None) -> Any:
    said = [value]
    dist.broadcast_object_list(said, src=0, group=group)
    return said[0]


def gather(value: Any) -> list[Any]:
    """What every rank says, in their order. All have to call it."""
    return _gather(value) if _together() else [value]


class Group:
    """The ranks of this job, over a way of their own that needs no accelerator. All ranks make
    theirs at the same time."""

    def __init__(self) -> None:
        self._group: Any = dist.new_group(backend="gloo") if _together() else None

    @property
    def alone(self) -> bool:
        return self._group is None

    @property
    def gone(self) -> bool:
        """The script has ended the process group: nobody can be asked any more."""
        return self._group is not None and not dist.is_initialized()

    def first_says(self, numbers: list[int]) -> list[int]:
        """Rank 0's, on every rank. All have to call it."""
        if self._group is None:
            return numbers
        said = torch.tensor(numbers)
        dist.broadcast(said, src=0, group=self._group)
        return [int(number) for number in said]

    def first_says_this(self, value: Any) -> Any:
        """The same for anything."""
        return value if self._group is None else _broadcast(value, self._group)

    def gather(self, value: Any) -> list[Any]:
        """What every rank says, in their order. All have to call it."""
        return [value] if self._group is None else _gather(value, self._group)

    def all(self, here: bool) -> bool:
        """True where it is true on every rank. All have to call it."""
        return self.all_with(here, 0)[0]

    def all_with(self, here: bool, number: int) -> tuple[bool, bool]:
        """Is it true on every rank, and have all of them the same number? All have to call it."""
        if self._group is None:
            return here, True
        said = torch.tensor([int(here), number, -number])
        dist.all_reduce(said, dist.ReduceOp.MIN, self._group)
        everywhere, least, most = said.tolist()
        return bool(everywhere), least == -most

    def send(self, tensor: torch.Tensor, to: int) -> Any:
        """Begins to; wait() ends it. Nobody changes the tensor until then."""
        return dist.isend(tensor, to, group=self._group)

    def receive(self, tensor: torch.Tensor, source: int) -> Any:
        """The same of the other side; what two ranks send each other comes in its order."""
        return dist.irecv(tensor, source, group=self._group)

    def swap(
        self, out: torch.Tensor | None, to: int, into: torch.Tensor | None, source: int
    ) -> None:
        """To one rank and from another, at once; None: nothing that way."""
        works = [] if out is None else [self.send(out, to)]
        works += [] if into is None else [self.receive(into, source)]
        for work in works:
            work.wait()


def broadcast(value: Any) -> Any:
    """What rank 0 says."""
    return _broadcast(value) if _together() else value
