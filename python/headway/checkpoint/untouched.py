"""Is a model still what was restored? For a state that is nowhere on disk, and that nobody has said
anything of since."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from headway.checkpoint.parts import ModelPart, Part
from headway.checkpoint.tensors import is_dtensor

SAMPLES_MAX = 4096  # of each tensor


class Untouched:
    """From when it is made on. Looks at every optimizer of torch's and at the tensors themselves.

    A tensor that was written to is compared by samples: DistributedDataParallel writes rank 0's
    weights over those of all, the same ones. A step of an optimizer that is not torch's changes
    more than a few of them."""

    def __init__(self, part: Part | None) -> None:
        self._part = part
        self._before = self._versions()
        self._sampled = self._samples()
        self._stepped = False
        self._hook = register_optimizer_step_post_hook(self._on_step)

    def _on_step(self, *_: Any) -> None:
        if not torch.compiler.is_dynamo_compiling():  # nothing of ours in a compiled optimizer
            self._stepped = True

    def _tensors(self) -> list[torch.Tensor]:
        state = self._part.state().values() if isinstance(self._part, ModelPart) else ()
        return [one for one in state if isinstance(one, torch.Tensor)]

    def _versions(self) -> list[int]:
        return [one._version for one in self._tensors()]

    def _samples(self) -> list[torch.Tensor]:
        return [_sample(one) for one in self._tensors()]

    def __bool__(self) -> bool:
        if self._stepped:
            return False
        if self._versions() == self._before:
            return True
        now = self._samples()
        return len(now) == len(self._sampled) and all(map(torch.equal, now, self._sampled))

    def close(self) -> None:
        self._hook.remove()


def _sample(tensor: torch.Tensor) -> torch.Tensor:
    """Bytes, so that what is no number is equal to itself; of a DTensor the part that is here."""
    here = tensor.detach()
    flat = (here.to_local() if is_dtensor(here) else here).flatten()
    return flat[:: max(1, flat.numel() // SAMPLES_MAX)].clone().view(torch.uint8)
