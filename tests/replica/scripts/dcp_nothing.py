"""Readers of what is not there, or is damaged; prints what each is answered."""

import os

import torch
import torch.distributed.checkpoint as dcp

import headway as hw
from headway.checkpoint import CheckpointDamagedError

folder = os.environ["FOLDER"]


def answer(path):
    try:
        hw.dcp.Reader(path)
        print("no answer")
    except FileNotFoundError as error:
        print(f"not found, {type(error).__name__}: {error}")
    except CheckpointDamagedError as error:
        print(f"damaged: {error}")


answer(f"{folder}/deep/nowhere")
os.mkdir(folder)
answer(folder)
for name in "abcdefg":
    open(f"{folder}/{name}.pt", "x").close()
answer(folder)
for step in (1, 2):
    writer = hw.dcp.Writer(folder, step=step)
    dcp.save({"w": torch.ones(3)}, storage_writer=writer, no_dist=True)
    (path,) = [name for name in os.listdir(folder) if name.startswith(f"step-{step:08}")]
    os.truncate(f"{folder}/{path}/rank-00000.safetensors", 100)
answer(folder)
