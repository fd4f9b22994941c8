"""For scripts that train with a framework: one kill, of a step that is saved."""

import os
import signal
from typing import Any

KILL = int(os.environ.get("KILL", "0"))
RANKS = int(os.environ.get("WORLD_SIZE", "1"))
IS_LAST = int(os.environ.get("RANK", "0")) == RANKS - 1
KILLED = os.environ["FOLDER"] + ".killed"


def after(step: int, keeper: Any) -> None:
    """The last rank dies after the step KILL, once: a file remembers."""
    if KILL and step == KILL and not os.path.exists(KILLED):
        if keeper.last_saved != KILL:
            keeper.save(KILL)  # the disk was too slow for it
        if IS_LAST:
            with open(KILLED, "x"):
                os.kill(os.getpid(), signal.SIGKILL)
