"""Trains with a state that is known after every step, and writes down what became of its saves, for
a test that kills it."""

import os
import time
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

import headway as hw

RANKS = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
DIARY = f"{os.environ['FOLDER']}.diary-{RANK}"
END = f"{os.environ['FOLDER']}.end"  # it is there when the training may end


def write(line: str) -> None:
    """One write: a line is there or not, whenever the process is killed."""
    fd = os.open(DIARY, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, f"{time.monotonic_ns()} {os.getpid()} {line}\n".encode())
    os.close(fd)


def train(keeper: Any, values: dict[str, int], start: int, change: Callable[[int], None]) -> None:
    """From the step behind `start` on, until the test has enough; change(step) is the training."""
    write(f"restored {start} {keeper.restored_from}")
    durable = 0
    for step in hw.steps(range(start + 1, 1_000_000), start=start):
        if os.path.exists(END):
            break
        change(step)
        values["step"] = step
        if RANKS > 1:
            dist.barrier()
        if keeper.maybe_save(step):
            write(f"staged {step}")
        if keeper.last_durable and keeper.last_durable != durable:
            durable = keeper.last_durable
            write(f"durable {durable}")
    os._exit(0)
