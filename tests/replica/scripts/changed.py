"""A script whose optimizer or parts changed since it saved. OPTIMIZER: a class of torch.optim;
SCHEDULER=1: it has one; MODE: save, or go on."""

import os

import torch

import headway as hw
from headway.checkpoint import CheckpointError

model = torch.nn.Linear(4, 4)
optimizer = getattr(torch.optim, os.environ["OPTIMIZER"])(model.parameters(), lr=0.1)
parts = {}
if os.environ.get("SCHEDULER"):
    parts["scheduler"] = torch.optim.lr_scheduler.StepLR(optimizer, 3)
keeper = hw.checkpointer(os.environ["FOLDER"], model=model, optimizer=optimizer, **parts)
if os.environ["MODE"] == "save":
    model(torch.ones(4)).sum().backward()
    optimizer.step()
    keeper.save(5, wait=True)
    keeper.close()
else:
    before = model.weight.clone()
    try:
        print("restored", keeper.restore(), sorted(optimizer.param_groups[0]))
    except CheckpointError as error:
        print(f"{type(error).__name__}: {error}")
        assert torch.equal(model.weight, before), "nothing was changed"
