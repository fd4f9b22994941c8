"""Prints how often the tuner of this job would save, if a save cost what it is told to."""

import os

import torch

import headway as hw

keeper = hw.checkpointer(os.environ["FOLDER"], model=torch.nn.Linear(4, 1))
seen = [0.0, 0.0, 0.0, 0.0, 15.0, 0.0, 0.0, 15.0]  # a save that blocks 15 s, and no failure yet
keeper.cadence.remember(seen, from_memory=False)
stage_s, persist_s = keeper.cadence._tuner.plan()
failures = keeper.cadence.memory()[:3]
print(f"plans {persist_s:.0f} s after {sum(failures):.0f} failures", flush=True)
if os.environ.get("FAIL"):
    raise SystemExit(1)
keeper.close()
