"""Tables that `auto` would save by rows if it could: prints how they are saved. WHY: `momentum`,
the optimizer changes every row; `order`, one is not in order in memory; `small`, they are little;
`none`, there are none."""

import os

import torch

import headway as hw

WHY = os.environ["WHY"]
model = torch.nn.Sequential(
    torch.nn.Linear(300 if WHY == "small" else 8, 300 if WHY == "small" else 8),
    torch.nn.Embedding(2000, 8, sparse=WHY != "none"),
)
if WHY == "order":
    model[1].weight = torch.nn.Parameter(torch.zeros(8, 2000).t())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9 if WHY != "order" else 0)
keeper = hw.checkpointer(os.environ["FOLDER"], model=model, optimizer=optimizer, every_steps=1)
keeper.save(1)
keeper.save(2)
print("saved by", keeper.staging.mode)
keeper.close()
