"""A stand-in for a device that does everything as late as it may: what is queued on a stream runs
when somebody waits for it, and not before. Whoever forgets a wait gets the bytes of before."""

from __future__ import annotations

from collections.abc import Callable

import torch


class Stream:
    entered: list[Stream] = []

    def __init__(self) -> None:
        self.queued: list[Callable[[], object]] = []

    def run(self) -> None:
        while self.queued:
            self.queued.pop(0)()

    def synchronize(self) -> None:
        self.run()

    def wait_stream(self, other: Stream) -> None:
        until = list(other.queued)

        def wait() -> None:
            for work in until:
                if work in other.queued:
                    other.queued.remove(work)
                    work()

        self.queued.append(wait)

    def __enter__(self) -> Stream:
        Stream.entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Stream.entered.pop()


class LazyDevice:
    """A Backend (device.py)."""

    def __init__(self) -> None:
        self.training = Stream()
        self.registered: dict[int, int] = {}
        self.log: list[str] = []

    def current_stream(self) -> Stream:
        return self.training

    def new_stream(self) -> Stream:
        return Stream()

    def copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        assert Stream.entered, "a copy outside of every stream"
        Stream.entered[-1].queued.append(lambda: target.copy_(source))

    def register(self, address: int, size: int) -> bool:
        assert address not in self.registered, "registered twice"
        self.registered[address] = size
        self.log.append("register")
        return True

    def unregister(self, address: int) -> None:
        self.registered.pop(address)
        self.log.append("unregister")
