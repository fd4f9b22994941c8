"""Tensors that took over the memory of a replica are not changed before there is a copy of it."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

WAIT_S = 60.0


class Settling:
    """Until the first step of an optimizer of torch's, which waits for the copy. Another kind does
    not wait: what it changes too early shows by its checksum, and is told."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._waited = False
        self._hook = register_optimizer_step_pre_hook(self._before_step)

    def _before_step(self, *_: Any) -> None:
        if self._waited or torch.compiler.is_dynamo_compiling():
            return
        self._waited = True
        self._trainer.settle(WAIT_S)

    def is_over(self) -> bool:
        """After a step, which may have been another kind's: it is worth the wait, a save needs the
        slot that is being copied into."""
        if not self._trainer.settle(0.0 if self._waited else WAIT_S):
            self._waited = True
            return False
        self._hook.remove()
        if self._trainer.take_changed_early():
            warnings.warn(
                "headway: what was restored was changed before there was a copy of it: after a "
                "crash before the next save the job goes on from an older step",
                RuntimeWarning,
                stacklevel=4,
            )
        return True
