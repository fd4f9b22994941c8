"""Two ranks of which the second does not see yet what is in the folder: it looks elsewhere."""

import os

import torch
import torch.distributed as dist

import headway as hw
from headway.checkpoint import CheckpointUsageError

dist.init_process_group("gloo")
folder = os.environ["FOLDER"] + (".elsewhere" if os.environ["RANK"] == "1" else "")
keeper = hw.checkpointer(folder, model=torch.nn.Linear(4, 1), every_steps=1)
try:
    keeper.maybe_save(1)
except CheckpointUsageError as error:
    print(f"rank {os.environ['RANK']} is told: {error}", flush=True)
dist.barrier()
dist.destroy_process_group()
