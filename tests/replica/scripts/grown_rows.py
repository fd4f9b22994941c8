"""An embedding table by rows, a copy in memory after every step, and values that get longer and
longer: what a layout was made for is too small again and again. FOLDER, STEPS, MODES: the way of
staging, and after a third of the steps and after two thirds other ones."""

import os

import torch

import headway as hw

STEPS = int(os.environ.get("STEPS", "150"))
MODES = os.environ.get("MODES", "rows").split(",")
torch.manual_seed(1)
model = torch.nn.Embedding(2000, 64, sparse=True)
optimizer = torch.optim.SparseAdam(model.parameters())
values: dict[str, list[float]] = {"losses": []}
keeper = hw.checkpointer(
    os.environ["FOLDER"],
    model=model,
    optimizer=optimizer,
    values=values,
    every_steps=10,
    stage_steps=1,
    staging=MODES[0],
)
start = keeper.restore() or 0
assert len(values["losses"]) == 30 * start, (len(values["losses"]), start)
print(f"goes on after {start} with {model.weight.sum().item():.6f}", flush=True)
for step in range(start + 1, STEPS + 1):
    model(torch.randint(2000, (32,))).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    values["losses"] += [1 / (step + 1)] * 30
    if step in (STEPS // 3, 2 * STEPS // 3) and len(MODES) > 1:
        keeper.switch_staging(MODES[step * 3 // STEPS])
    keeper.maybe_save(step)
keeper.save(STEPS, wait=True)
print(
    f"ended at {keeper.last_durable} with {model.weight.sum().item():.6f}, {keeper.failed} failed"
)
keeper.close()
