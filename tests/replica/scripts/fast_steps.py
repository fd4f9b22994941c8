"""Steps that are faster than the disk, each to be saved: FOLDER, STEPS. Says how many were not."""

import os

import torch

import headway as hw

model = torch.nn.Linear(256, 256)
keeper = hw.checkpointer(os.environ["FOLDER"], model=model, every_steps=1)
for step in range(1, int(os.environ["STEPS"]) + 1):
    with torch.no_grad():
        model.weight.fill_(step)
    keeper.maybe_save(step)
skipped = keeper.skipped
keeper.close()
print(f"skipped {skipped}, saved last {keeper.last_saved}")
