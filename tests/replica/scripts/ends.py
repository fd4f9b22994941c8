"""A training of six steps that is saved after the first and the fourth, and ends in one of the ways
that a training ends: HOW is forget, close, with, exit, raise, finally or destroyed."""

import os
import sys

import torch
import torch.distributed as dist

import headway as hw

HOW = os.environ["HOW"]
if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
model = torch.nn.Linear(4, 1)


def train(keeper, raises_after=None):
    start = keeper.restore() or 1
    if start == 1:
        keeper.save(1, wait=True)
    for step in range(start + 1, 7):
        with torch.no_grad():
            model.weight.fill_(step)
        keeper.maybe_save(step)
        if step == raises_after:
            raise ValueError("of the script")


keeper = hw.checkpointer(os.environ["FOLDER"], model=model, every_steps=4)
if HOW == "forget":
    train(keeper)
elif HOW == "close":
    train(keeper)
    keeper.close()
    keeper.close()
elif HOW == "with":
    with keeper:
        train(keeper)
elif HOW == "exit":
    with keeper:
        train(keeper)
        sys.exit(0)
elif HOW == "raise":
    with keeper:
        train(keeper, raises_after=5)
elif HOW == "destroyed":
    train(keeper)
    dist.destroy_process_group()
    keeper.close()
else:
    try:
        train(keeper, raises_after=5)
    finally:
        keeper.close()
