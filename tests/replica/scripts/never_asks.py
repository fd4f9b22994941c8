"""A loop as most people write it: it saves, and does not ask whether it should end. FOLDER, and HOW
the checkpointer is held: plain, with."""

import contextlib
import os
import time

import torch
import torch.distributed as dist

import headway as hw

RANK = int(os.environ.get("RANK", "0"))
if int(os.environ.get("WORLD_SIZE", "1")) > 1:
    dist.init_process_group("gloo")
torch.manual_seed(1)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.AdamW(model.parameters())
keeper = hw.checkpointer(
    os.environ["FOLDER"], model=model, optimizer=optimizer, every_steps=1000, keep_last=0
)
start = keeper.restore() or 0
print(f"rank {RANK} goes on after {start}", flush=True)
with keeper if os.environ.get("HOW") == "with" else contextlib.nullcontext():
    for step in range(start + 1, 100_000):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()
        keeper.maybe_save(step)
        print(f"rank {RANK} step {step}", flush=True)
        time.sleep(0.02)
print("not reached")
