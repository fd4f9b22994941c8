"""Headway: where the time of a training job goes.

    import headway as hw

    for batch in hw.steps(loader):
        ...

Every call works, and costs nothing that matters, outside `headway run` too. See docs/python.md.
"""

from headway._api import (
    attr,
    checkpoint_blocked,
    checkpoint_durable,
    checkpoint_staged,
    init,
    mark,
    phase,
    restore,
    should_stop,
    stats,
    steps,
)

__version__ = "0.1.0"

__all__ = [
    "attr",
    "checkpoint_blocked",
    "checkpoint_durable",
    "checkpoint_staged",
    "init",
    "mark",
    "phase",
    "restore",
    "should_stop",
    "stats",
    "steps",
]
