"""Two checkpoints, of which the newest is damaged inside; prints what a load of it says."""

import os

import torch
import torch.distributed.checkpoint as dcp

import headway as hw

folder = os.environ["FOLDER"]
for step in (1, 2):
    writer = hw.dcp.Writer(folder, step=step)
    dcp.save({"w": torch.full((64,), float(step))}, storage_writer=writer, no_dist=True)
older, newest = sorted(os.listdir(folder))[-2:]


def flip(name):
    path = f"{folder}/{name}/rank-00000.safetensors"
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) - 5)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def load(path):
    state = {"w": torch.zeros(64)}
    try:
        dcp.load(state, storage_reader=hw.dcp.Reader(path), no_dist=True)
        print("loaded", path, state["w"][0].item())
    except dcp.api.CheckpointException as error:
        (cause,) = error.failures.values()
        print("damaged:", cause[0])


flip(newest)
load(folder)
load(f"{folder}/{newest}/")
load(f"{folder}/{older}")
flip(older)
load(f"{folder}/{older}")
