"""Is a model still what was restored? For a state that is nowhere on disk, and that nobody has said
anything of since."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from headway.checkpoint.parts import ModelPart, Part


class Untouched:
    """From when it is made on. Looks at every optimizer of torch's and at the tensors themselves:
    one that changes weights past both is not known."""

    def __init__(self, part: Part | None) -> None:
        self._part = part
        self._before = self._versions()
        self._stepped = False
        self._hook = register_optimizer_step_post_hook(self._on_step)

    def _on_step(self, *_: Any) -> None:
        if not torch.compiler.is_dynamo_compiling():  # nothing of ours in a compiled optimizer
            self._stepped = True

    def _versions(self) -> list[int]:
        state = self._part.state().values() if isinstance(self._part, ModelPart) else ()
        return [one._version for one in state if isinstance(one, torch.Tensor)]

    def __bool__(self) -> bool:
        return not self._stepped and self._versions() == self._before

    def close(self) -> None:
        self._hook.remove()
