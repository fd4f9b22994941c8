"""Where the run is: the step and the samples consumed. One object a process, shared by the calls
of `headway` and by the hook, so that both number steps alike."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from headway._recorder import core


def world_size() -> int:
    """Ranks of the job, by torchrun's contract; 1 where it says nothing usable."""
    try:
        return max(1, int(os.environ.get("WORLD_SIZE", "1")))
    except ValueError:
        return 1


def static_batch_size(loader: Any) -> int | None:
    """Samples per batch where the loader states a fixed number."""
    size = getattr(loader, "batch_size", None)
    return size if type(size) is int and size > 0 else None


class Run(core.RunState):  # type: ignore[misc, name-defined]
    """The training position. Written by the training thread only. The base holds

    step      finished steps
    data      global samples consumed by them; None: not known
    per_step  samples that the last step took; 0: not known
    explicit  steps come from hw.steps(): the hook leaves them alone
    """

    __slots__ = ("before_first_batch", "claim", "first_batch")

    def __init__(self) -> None:
        self.first_batch = False  # the first training batch has been asked for
        self.before_first_batch: Callable[[], None] | None = None
        self.claim: Callable[[], bool] | None = None  # the hook's way to begin to record

    def ask_first_batch(self) -> bool:
        """True once: for the first training batch of the process."""
        if self.first_batch:
            return False
        self.first_batch = True
        if self.before_first_batch is not None:
            self.before_first_batch()
        return True


run = Run()
