"""A folder that cannot be written to while step 2 is saved. STAGING: full or stream."""

import os

import torch

import headway as hw

folder = os.environ["FOLDER"]
keeper = hw.checkpointer(
    folder, model=torch.nn.Linear(4, 1), every_steps=1, staging=os.environ["STAGING"]
)
keeper.save(1, wait=True)
os.rename(folder, folder + ".away")  # at once: the holder may be putting LATEST or its lock there
with open(folder, "x"):
    pass
keeper.maybe_save(2)
keeper.wait()
print("failed", keeper.failed, keeper.last_durable, flush=True)
os.remove(folder)
keeper.save(3, wait=True)
keeper.close()
print("failed", keeper.failed, keeper.last_durable, flush=True)
