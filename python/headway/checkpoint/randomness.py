"""The random numbers that decide which batches a DataLoader gives: those of the whole process, and
generators that belong to the loader and its samplers. As bytes inside of a state's document: a
tensor more or less would be another layout."""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import torch

from headway.checkpoint.errors import CheckpointMismatchError

SAMPLERS_MAX = 16  # samplers inside of samplers


def _tensor_bytes(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.cpu().numpy())


def _to_tensor(state: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(state), dtype=torch.uint8)


def _python_state(state: Any) -> list[Any]:
    version, words, gauss = state
    return [version, array("I", words).tobytes(), gauss]


def _to_python(state: list[Any]) -> Any:
    version, words, gauss = state
    return version, tuple(array("I", words)), gauss


def _numpy_state(state: dict[str, Any]) -> Any:
    """Arrays as bytes, the rest as it is."""
    return {
        key: _numpy_state(value)
        if isinstance(value, dict)
        else {"array": value.dtype.str, "bytes": value.tobytes()}
        if hasattr(value, "tobytes") and getattr(value, "ndim", 0) > 0
        else value
        for key, value in state.items()
    }


def _to_numpy(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    if "bytes" in state:
        return sys.modules["numpy"].frombuffer(state["bytes"], dtype=state["array"])
    return {key: _to_numpy(value) for key, value in state.items()}


def of_process() -> dict[str, Any]:
    state: dict[str, Any] = {
        "torch": _tensor_bytes(torch.get_rng_state()),
        "python": _python_state(random.getstate()),
    }
    if (numpy := sys.modules.get("numpy")) is not None:
        state["numpy"] = _numpy_state(numpy.random.get_state(legacy=False))
    return state


def set_process(state: dict[str, Any]) -> None:
    torch.set_rng_state(_to_tensor(state["torch"]))
    random.setstate(_to_python(state["python"]))
    if "numpy" in state and (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.set_state(_to_numpy(state["numpy"]))


def as_now() -> Callable[..., None]:
    """What brings the random numbers of this moment back, whenever it is called."""
    state = of_process()
    return lambda *_: set_process(state)


def _get(generator: Any) -> Any:
    if isinstance(generator, torch.Generator):
        return _tensor_bytes(generator.get_state())
    if isinstance(generator, random.Random):
        return _python_state(generator.getstate())
    if hasattr(generator, "get_state"):  # numpy's RandomState
        return _numpy_state(generator.get_state(legacy=False))
    return _numpy_state(generator.bit_generator.state)


def _set(generator: Any, state: Any) -> None:
    if isinstance(generator, torch.Generator):
        generator.set_state(_to_tensor(state))
    elif isinstance(generator, random.Random):
        generator.setstate(_to_python(state))
    elif hasattr(generator, "set_state"):
        generator.set_state(_to_numpy(state))
    else:
        generator.bit_generator.state = _to_numpy(state)


def _is_generator(value: Any) -> bool:
    if isinstance(value, torch.Generator):
        return value is not torch.default_generator
    kinds: tuple[type, ...] = (random.Random,)
    if (numpy := sys.modules.get("numpy")) is not None:
        kinds += (numpy.random.Generator, numpy.random.RandomState)
    return isinstance(value, kinds)


def _samplers(loader: Any) -> Iterator[Any]:
    """The loader's samplers and those that they draw from, each once."""
    seen: set[int] = set()
    todo = [getattr(loader, "batch_sampler", None), getattr(loader, "sampler", None)]
    while todo and len(seen) < SAMPLERS_MAX:
        sampler = todo.pop(0)
        if sampler is None or id(sampler) in seen:
            continue
        seen.add(id(sampler))
        yield sampler
        todo += [getattr(sampler, "batch_sampler", None), getattr(sampler, "sampler", None)]


class Own:
    """What belongs to one loader: generators of it and of its samplers, and the epochs that
    set_epoch() gave to them."""

    def __init__(self, loader: Any) -> None:
        samplers = list(_samplers(loader))
        found = [getattr(loader, "generator", None)]
        for sampler in samplers:
            found += vars(sampler).values() if hasattr(sampler, "__dict__") else []
        self._generators = list({id(g): g for g in found if _is_generator(g)}.values())
        self._numbered = [
            s
            for s in samplers
            if callable(getattr(s, "set_epoch", None)) and type(getattr(s, "epoch", None)) is int
        ]

    def state(self) -> dict[str, Any]:
        return {
            "generators": [_get(generator) for generator in self._generators],
            "epochs": [sampler.epoch for sampler in self._numbered],
        }

    def set(self, state: dict[str, Any]) -> None:
        saved, own = len(state["generators"]), len(self._generators)
        if saved != own or len(state["epochs"]) != len(self._numbered):
            raise CheckpointMismatchError(
                f"loader: it was saved with {saved} generators and {len(state['epochs'])} samplers "
                f"that know epochs, and has {own} and {len(self._numbered)}: it is another one"
            )
        for generator, one in zip(self._generators, state["generators"], strict=True):
            _set(generator, one)
        for sampler, epoch in zip(self._numbered, state["epochs"], strict=True):
            if sampler.epoch != epoch:
                sampler.set_epoch(epoch)

    def epochs(self) -> list[int]:
        return [sampler.epoch for sampler in self._numbered]
