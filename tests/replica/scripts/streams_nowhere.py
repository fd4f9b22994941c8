"""A folder that cannot be written to when the training streams into it; prints the error's kind."""

import os
import shutil

import torch

import headway as hw

folder = os.environ["FOLDER"]
keeper = hw.checkpointer(folder, model=torch.nn.Linear(4, 1), every_steps=1, staging="stream")
keeper.save(1, wait=True)
shutil.rmtree(folder)
with open(folder, "x"):
    pass
try:
    keeper.save(2)
except hw.checkpoint.CheckpointError as error:
    print(type(error).__name__, error, flush=True)
os.remove(folder)
keeper.save(3, wait=True)
keeper.close()
