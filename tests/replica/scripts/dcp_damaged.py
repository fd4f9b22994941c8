"""Two checkpoints, of which the newest is damaged inside; prints what a load of it says.

ROWS: of 1 MiB each; in a file of more than 4 MiB the damage is not where its header is checked.
UNCAUGHT: the first error ends it.
"""

import os

import torch
import torch.distributed.checkpoint as dcp

import headway as hw
from headway.checkpoint import CheckpointDamagedError

SHAPE = (int(os.environ["ROWS"]), 1 << 18)
folder = os.environ["FOLDER"]
for step in (1, 2):
    writer = hw.dcp.Writer(folder, step=step)
    dcp.save({"w": torch.full(SHAPE, float(step))}, storage_writer=writer, no_dist=True)
older, newest = sorted(os.listdir(folder))[-2:]


def flip(name):
    path = f"{folder}/{name}/rank-00000.safetensors"
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) - 5)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def load(path):
    state = {"w": torch.zeros(SHAPE)}
    try:
        dcp.load(state, storage_reader=hw.dcp.Reader(path), no_dist=True)
        print("loaded", path, state["w"].unique().tolist())
    except CheckpointDamagedError as error:
        print("damaged:", error)
    except dcp.CheckpointException as error:
        for rank, (cause, _) in error.failures.items():
            assert isinstance(cause, CheckpointDamagedError)
            print(f"damaged, says rank {rank}:", cause)
        if os.environ.get("UNCAUGHT"):
            raise


flip(newest)
load(folder)
load(f"{folder}/{newest}/")
load(f"{folder}/{older}")
flip(older)
load(f"{folder}/{older}")
