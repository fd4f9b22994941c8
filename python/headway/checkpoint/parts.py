"""What a checkpoint is made of: the model, the optimizer, whatever has a `state_dict()`, the random
number generators, values of the script's own. Each gives its state as JSON with tensors in it
(tagged.py), and takes it back."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch

from headway.checkpoint.errors import CheckpointUsageError


class Part(Protocol):
    per_rank: bool  # every rank has its own, which is of no use to another number of ranks

    def is_own(self, path: str) -> bool:
        """Does every rank have its own tensor there, also in a data-parallel job?"""
        ...

    def state(self) -> Any: ...
    def load(self, state: Any) -> None: ...


def unwrap(model: torch.nn.Module) -> torch.nn.Module:
    """The script's own module inside DDP's and torch.compile's: names without their prefixes."""
    while True:
        inner = getattr(model, "_orig_mod", None)
        if inner is None and type(model).__name__ == "DistributedDataParallel":
            inner = model.module
        if not isinstance(inner, torch.nn.Module):
            return model
        model = inner


class ModelPart:
    """Tensors are copied into the module's own, or put in their place (restore.py)."""

    per_rank = False

    def __init__(self, model: torch.nn.Module) -> None:
        self.given = model
        self.model = unwrap(model)
        # Gradients keep parameters equal on all ranks, and nothing keeps buffers so (BatchNorm's).
        self._buffers = {f"model.{name}" for name, _ in self.model.named_buffers()}

    def is_own(self, path: str) -> bool:
        return path in self._buffers

    def state(self) -> dict[str, Any]:
        return dict(self.model.state_dict(keep_vars=True))

    def load(self, state: dict[str, Any]) -> None:
        """Tensors are there already; what is left is state that modules define themselves."""
        own = self.model.state_dict(keep_vars=True)
        extra = {
            key: value
            for key, value in state.items()
            if key in own and not isinstance(own[key], torch.Tensor)
        }
        if extra:
            self.model.load_state_dict(extra, strict=False)


class OptimizerPart:
    """By the parameters' names, so that neither their order nor the number of ranks matters."""

    per_rank = False

    def __init__(self, optimizer: torch.optim.Optimizer, model: torch.nn.Module | None) -> None:
        self.optimizer = optimizer
        self.model = unwrap(model) if model is not None else None
        self._by_name: dict[str, torch.Tensor] = {}

    def is_own(self, path: str) -> bool:
        return False

    def names(self) -> dict[torch.Tensor, str]:
        names: dict[torch.Tensor, str] = {}
        if self.model is not None:
            for name, parameter in self.model.named_parameters():
                names[parameter] = name
        for g, group in enumerate(self.optimizer.param_groups):
            for i, parameter in enumerate(group["params"]):
                names.setdefault(parameter, f"#{g}.{i}")
        return names

    def state(self) -> dict[str, Any]:
        names = self.names()
        groups = [
            {**group, "params": [names[p] for p in group["params"]]}
            for group in self.optimizer.param_groups
        ]
        state = {names[p]: dict(s) for p, s in self.optimizer.state.items() if p in names}
        return {"param_groups": groups, "state": state}

    def like(self, name: str) -> torch.Tensor | None:
        """The parameter whose state is stored under this name."""
        if not name.startswith("optimizer.state."):
            return None
        fqn = name.removeprefix("optimizer.state.").rpartition(".")[0]
        if fqn not in self._by_name:  # asked for each tensor of thousands: not to be made each time
            self._by_name = {own: parameter for parameter, own in self.names().items()}
        return self._by_name.get(fqn)

    def misfit(self, saved: Any) -> str:
        """Why this state, as it is stored, is none for this optimizer; "" where it is. A class may
        be renamed, and torch adds options now and then: only who lacks some and has others is
        another."""
        groups = saved.get("param_groups") if isinstance(saved, dict) else None
        states = saved.get("state") if isinstance(saved, dict) else None
        kind, count = type(self.optimizer).__name__, len(self.optimizer.param_groups)
        if not isinstance(groups, list) or not isinstance(states, dict) or "$dict" in states:
            return f"saved was what is no state of {kind}'s: another kind of optimizer"
        if groups and (text := self._other_kind(groups[0])):
            return text
        if len(groups) != count:
            return f"{count} parameter groups, saved were {len(groups)}"
        of = self.names()
        names = {of[p] for group in self.optimizer.param_groups for p in group["params"]}
        strange = next((name for name in states if name not in names), None)
        if strange is not None:
            return f"state was saved for {strange}, which is not among its parameters"
        return ""

    def _other_kind(self, first: dict[str, Any]) -> str:
        defaults, own = self.optimizer.defaults, self.optimizer.param_groups[0]
        lacks = [key for key in defaults if key not in first]
        has = [key for key in first if key not in own and key not in _OF_SCHEDULERS]
        kind = type(self.optimizer).__name__
        if lacks and has:
            return (
                f"saved was one with {', '.join(has[:3])}, and {kind} has {', '.join(lacks[:3])} "
                "instead: another kind of optimizer"
            )
        decoupled = "decoupled_weight_decay"  # all that tells Adam and AdamW apart
        if decoupled in first and first[decoupled] != defaults.get(decoupled, first[decoupled]):
            return (
                f"saved was one with {decoupled}={first[decoupled]}, and {kind} has "
                f"{defaults[decoupled]}: another kind of optimizer"
            )
        return ""

    def load(self, saved: dict[str, Any]) -> None:
        """What fits: misfit() was asked before."""
        # As Optimizer.load_state_dict, without its copies of everything.
        parameters = {name: parameter for parameter, name in self.names().items()}
        groups = self.optimizer.param_groups
        for group, old in zip(groups, saved["param_groups"], strict=True):
            group.update({key: value for key, value in old.items() if key != "params"})
        self.optimizer.state.clear()
        self._by_name.clear()
        of = {parameter: group for group in groups for parameter in group["params"]}
        for name, state in saved["state"].items():
            parameter = parameters[name]
            self.optimizer.state[parameter] = {
                key: _beside(parameter, of[parameter], key, value) for key, value in state.items()
            }


_OF_SCHEDULERS = frozenset(
    ("initial_lr", "max_lr", "min_lr", "max_momentum", "min_momentum", "base_momentum", "swa_lr")
)  # which they put into parameter groups, of any optimizer


def _beside(parameter: torch.Tensor, group: dict[str, Any], key: str, value: Any) -> Any:
    """State lies where its parameter does, but for the count of steps: that is asked by the
    processor, unless a kernel does it."""
    if not isinstance(value, torch.Tensor):
        return value
    if key == "step" and not (group.get("capturable") or group.get("fused")):
        return value
    return value.to(parameter.device)


def is_stateful(thing: Any) -> bool:
    return all(callable(getattr(thing, name, None)) for name in ("state_dict", "load_state_dict"))


class StatefulPart:
    """Anything with state_dict() and load_state_dict()."""

    def __init__(self, name: str, thing: Any, per_rank: bool = False) -> None:
        if not is_stateful(thing):
            raise CheckpointUsageError(
                f"{name}: a {type(thing).__name__} has no state_dict() and load_state_dict(), and "
                "is no DataLoader"
            )
        self.thing = thing
        self.per_rank = per_rank

    def is_own(self, path: str) -> bool:
        return True

    def state(self) -> Any:
        return self.thing.state_dict()

    def load(self, state: Any) -> None:
        self.thing.load_state_dict(state)


class ValuesPart:
    """A dictionary of the script's own, saved and restored in place."""

    per_rank = False

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def is_own(self, path: str) -> bool:
        return True

    def state(self) -> dict[str, Any]:
        return dict(self.values)

    def load(self, state: dict[str, Any]) -> None:
        self.values.clear()
        self.values.update(state)


class RngPart:
    """Every generator that torch, numpy and Python keep for the whole process."""

    per_rank = True

    def is_own(self, path: str) -> bool:
        return True

    def state(self) -> dict[str, Any]:
        version, words, gauss = random.getstate()
        state: dict[str, Any] = {
            "python": [version, torch.tensor(words, dtype=torch.int64), gauss],
            "torch": torch.get_rng_state(),
        }
        for name, module in _device_modules():
            state[name] = list(module.get_rng_state_all())
        if (numpy := sys.modules.get("numpy")) is not None:
            state["numpy"] = numpy.random.get_state(legacy=False)
        return state

    def load(self, state: dict[str, Any]) -> None:
        version, words, gauss = state["python"]
        random.setstate((version, tuple(words.tolist()), gauss))
        torch.set_rng_state(state["torch"].clone())
        for name, module in _device_modules():
            if name in state:
                module.set_rng_state_all([one.cpu().clone() for one in state[name]])
        if "numpy" in state and (numpy := sys.modules.get("numpy")) is not None:
            numpy.random.set_state(state["numpy"])


def _device_modules() -> Iterator[tuple[str, Any]]:
    """Accelerators that this process uses: a question must not start one."""
    for name in ("cuda", "xpu", "mps"):
        module = getattr(torch, name, None)
        initialized: Callable[[], bool] | None = getattr(module, "is_initialized", None)
        if initialized is not None and initialized() and hasattr(module, "get_rng_state_all"):
            yield name, module


def is_plain_optimizer(thing: Any) -> bool:
    """Whose state torch.optim.Optimizer keeps, and nobody else."""
    kind = type(thing)
    return (
        isinstance(thing, torch.optim.Optimizer)
        and kind.state_dict is torch.optim.Optimizer.state_dict
        and kind.load_state_dict is torch.optim.Optimizer.load_state_dict
    )
