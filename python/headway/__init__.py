"""Headway: where the time of a training job goes.

    import headway as hw

    for batch in hw.steps(loader):
        ...

Every call works, and costs nothing that matters, outside `headway run` too. See docs/python.md.
"""

from typing import TYPE_CHECKING, Any

from headway._api import (
    attr,
    checkpoint_blocked,
    checkpoint_durable,
    checkpoint_failed,
    checkpoint_staged,
    init,
    mark,
    phase,
    restore,
    should_stop,
    stats,
    steps,
)

if TYPE_CHECKING:
    from headway.checkpoint import Checkpointer

__version__ = "0.1.0"


def checkpointer(*args: Any, **kwargs: Any) -> "Checkpointer":
    """Saves in the background, and goes on from memory after a crash: docs/saving.md.

    ckpt = hw.checkpointer("checkpoints", model=model, optimizer=optimizer, every_steps=100)
    step = ckpt.restore() or 0
    """
    from headway.checkpoint import Checkpointer  # torch is not imported for those who do not save

    return Checkpointer(*args, **kwargs)


def __getattr__(name: str) -> Any:
    if name in ("dcp", "huggingface", "lightning"):  # imported for those who use them
        import importlib

        return importlib.import_module(f"headway.{name}")
    raise AttributeError(f"module 'headway' has no attribute {name!r}")


__all__ = [
    "attr",
    "checkpoint_blocked",
    "checkpoint_durable",
    "checkpoint_failed",
    "checkpoint_staged",
    "checkpointer",
    "init",
    "mark",
    "phase",
    "restore",
    "should_stop",
    "stats",
    "steps",
]
