"""Every step into memory and every second one to a disk that is stuck from the first save on:
FOLDER. Says which steps were not in memory when maybe_save() returned."""

import os
import signal
import time
from pathlib import Path

import torch
from holder_of_script import holder

import headway as hw

model = torch.nn.Linear(256, 256)
keeper = hw.checkpointer(
    os.environ["FOLDER"], model=model, every_steps=2, stage_steps=1, staging="full"
)
keeper.save(2, wait=True)
memory = Path(os.environ["HEADWAY_REPLICA_DIR"])
while len([*memory.rglob("rank-00000.slot-*")]) < 3:  # the holder makes them one after the other
    time.sleep(0.01)
for step in (3, 4):
    keeper.maybe_save(step)
pid = holder()
os.kill(pid, signal.SIGSTOP)
missing = []
for step in range(5, 40):
    with torch.no_grad():
        model.weight.fill_(step)
    keeper.maybe_save(step)
    if keeper.last_saved != step:
        missing.append(step)
os.kill(pid, signal.SIGCONT)
print(f"missing {missing}, skipped {keeper.skipped}")
keeper.close()
print(f"on disk {keeper.last_durable}")
