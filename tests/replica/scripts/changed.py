"""A script whose optimizer or parts changed since it saved. OPTIMIZER: a class of torch.optim;
SCHEDULER=1: it has one; GROUPS: of parameters; MODE: save (KILL=1: and die), or go on; ALLOW:
what may be missing."""

import os

import torch

import headway as hw
from headway.checkpoint import CheckpointError

model = torch.nn.Linear(4, 4)
groups = {
    None: list(model.parameters()),
    "two": [{"params": [model.weight]}, {"params": [model.bias], "lr": 0.2}],
    "no bias": [model.weight],
}
given = groups[os.environ.get("GROUPS")]
optimizer = getattr(torch.optim, os.environ["OPTIMIZER"])(given, lr=0.1)
parts = {}
if os.environ.get("SCHEDULER"):
    parts["scheduler"] = torch.optim.lr_scheduler.StepLR(optimizer, 3)
keeper = hw.checkpointer(os.environ["FOLDER"], model=model, optimizer=optimizer, **parts)


def train(step):
    optimizer.zero_grad()
    model(torch.ones(4)).sum().backward()
    optimizer.step()
    optimizer.param_groups[0]["lr"] = 0.05
    keeper.save(step, wait=True)
    print("saved", step, model.weight.double().sum().item())
    if os.environ.get("KILL"):
        os.kill(os.getpid(), 9)
    keeper.close()


if os.environ["MODE"] == "save":
    train(5)
else:
    before = model.weight.clone()
    made = optimizer.state_dict()
    try:
        step = keeper.restore(allow_missing=[name for name in [os.environ.get("ALLOW")] if name])
        print("restored", step, keeper.restored_from, model.weight.double().sum().item())
        print("optimizer", "as made" if optimizer.state_dict() == made else "restored")
        train(step + 1)
    except CheckpointError as error:
        print(f"{type(error).__name__}: {error}")
        assert torch.equal(model.weight, before), "nothing was changed"
