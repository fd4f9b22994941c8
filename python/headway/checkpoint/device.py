"""Tensors on a device, copied into a slot's memory.

Copies go on a stream of their own, which first waits for all that is queued on the training's
stream: the optimizer's step may still run when save() is called. Before save() returns, the process
itself waits for that stream. For the training's stream to wait would not do: the checksums are made
of the slot's memory next, by the processor. And the script may change a tensor in place as soon as
save() has returned. Other streams (batches on their way in, reductions on their way out) are not
waited for.

A slot's memory is registered with the device, where that offers it, so that it can write into it
directly. It takes a while, and happens between saves. What is registered is held mapped.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Protocol

import torch


class Backend(Protocol):
    """A device, as far as copies need one. Streams are as torch.Stream."""

    def current_stream(self) -> Any: ...
    def new_stream(self) -> Any: ...

    def copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        """Queued on the stream that is entered."""
        ...

    def register(self, address: int, size: int) -> bool: ...
    def unregister(self, address: int) -> None: ...


class TorchBackend:
    """Whatever torch.accelerator knows. Nothing of it has run on one yet."""

    PORTABLE = 1  # cudaHostRegisterPortable: for every context of this process

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def current_stream(self) -> Any:
        return torch.accelerator.current_stream(self.device)

    def new_stream(self) -> Any:
        return torch.Stream(self.device)

    def copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        target.copy_(source, non_blocking=True)

    def register(self, address: int, size: int) -> bool:
        if self.device.type != "cuda":  # ROCm is called so too; others offer nothing
            return False
        with torch.cuda.device(self.device):  # a thread begins on the first one
            return int(torch.cuda.cudart().cudaHostRegister(address, size, self.PORTABLE)) == 0

    def unregister(self, address: int) -> None:
        with torch.cuda.device(self.device):
            torch.cuda.cudart().cudaHostUnregister(address)


def backend_of(tensor: torch.Tensor) -> Backend | None:
    """None: it is in memory, and only out of order."""
    return None if tensor.device.type == "cpu" else TorchBackend(tensor.device)


class _Pin:
    """One slot's memory, on its way to being registered."""

    def __init__(self, slot: Any, backend: Backend) -> None:
        self._slot = slot
        self._backend = backend
        memory = torch.frombuffer(slot, dtype=torch.uint8)
        self._address, self._size = memory.data_ptr(), memory.numel()
        self._done = False
        self._thread = threading.Thread(target=self._register, daemon=True)
        self._thread.start()

    def _register(self) -> None:
        self._done = self._backend.register(self._address, self._size)

    def wait(self) -> None:
        """Nobody copies into memory that is being registered."""
        self._thread.join()

    def release(self) -> None:
        self._thread.join()
        if self._done:
            self._backend.unregister(self._address)
        self._slot = None


class Lanes:
    """The streams of one checkpointer, and the slots that its devices know."""

    def __init__(self) -> None:
        self._lanes: dict[torch.device, tuple[Backend, Any]] = {}
        self._pins: dict[str, _Pin] = {}

    def copy(self, slot: Any, pairs: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> None:
        """Into a slot's memory, each target from its source. They are there when it returns."""
        if (pin := self._pins.get(slot.path)) is not None:
            pin.wait()
        begun: dict[torch.device, tuple[Backend, Any]] = {}
        for target, source in pairs:
            lane = begun.get(source.device) or self._begin(source)
            if lane is None:
                target.copy_(source)
                continue
            begun[source.device] = lane
            backend, side = lane
            with side:
                backend.copy(target, source)
        for backend, side in begun.values():
            side.synchronize()
            if slot.path not in self._pins:
                self._pins[slot.path] = _Pin(slot, backend)

    def _begin(self, source: torch.Tensor) -> tuple[Backend, Any] | None:
        lane = self._lanes.get(source.device)
        if lane is None:
            backend = backend_of(source)
            if backend is None:
                return None
            lane = self._lanes[source.device] = (backend, backend.new_stream())
        backend, side = lane
        side.wait_stream(backend.current_stream())
        return lane

    def release(self) -> None:
        """The slots go, or there are others now."""
        for pin in self._pins.values():
            pin.release()
        self._pins.clear()
