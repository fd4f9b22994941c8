"""Saves a step twice, and goes on: FOLDER."""

import os
import time

import torch

import headway as hw

model = torch.nn.Linear(8, 8)
keeper = hw.checkpointer(
    os.environ["FOLDER"], model=model, stage_steps=1, every_steps=4, keep_last=0
)
for step in range(1, 9):
    keeper.maybe_save(step)
    if step % 2 == 0:
        keeper.save(step)  # on its way to the disk, or only in memory until now
        keeper.save(step, wait=True)
    time.sleep(0.05)
keeper.save(9)
keeper.save(9, wait=True)
keeper.save(9)
keeper.close()
