"""A script that got new parts since it saved. MODE: save, or go on as one that has `values` and
a second layer as well; ALLOW: what may be missing."""

import os

import torch

import headway as hw
from headway.checkpoint import CheckpointError

folder = os.environ["FOLDER"]
body = torch.nn.Linear(4, 4)
if os.environ["MODE"] == "save":
    optimizer = torch.optim.AdamW(body.parameters())
    keeper = hw.checkpointer(folder, model=torch.nn.Sequential(body), optimizer=optimizer)
    body(torch.ones(4)).sum().backward()
    optimizer.step()
    with torch.no_grad():
        body.weight.fill_(7)
    keeper.save(5, wait=True)
    if os.environ.get("KILL"):
        os.kill(os.getpid(), 9)
    keeper.close()
else:
    head = torch.nn.Linear(4, 1)
    fresh = head.weight.clone()
    model = torch.nn.Sequential(body, head)
    optimizer = torch.optim.AdamW(model.parameters())
    values = {"seen": 3}
    keeper = hw.checkpointer(folder, model=model, optimizer=optimizer, values=values)
    try:
        allowed = os.environ.get("ALLOW", "")
        step = keeper.restore(allow_missing=[name for name in allowed.split(",") if name])
        print("restored", step, keeper.restored_from, values, keeper.last_durable)
        if step == 5:
            assert body.weight.unique().tolist() == [7.0]
            assert torch.equal(head.weight, fresh), "it stays as it was"
            model(torch.ones(4)).sum().backward()
            optimizer.step()
            keeper.save(6, wait=True)
            print("saved", keeper.last_durable)
    except CheckpointError as error:
        print(f"{type(error).__module__}.{type(error).__name__}: {error}")
    keeper.close()
