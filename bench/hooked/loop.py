"""Run under the hook: a small unmodified training loop, epochs with and without the hook in turns.
In one process, because two processes of the same script differ by more (where their memory happens
to lie) than the hook costs. Prints JSON: microseconds a step with, without, and the median of the
differences of neighbours, in CPU time of the training thread.

usage: loop.py PAIRS
"""

import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

STEPS = 50  # an epoch: short, so that both see the same weather
pairs = int(sys.argv[1])
torch.manual_seed(0)
torch.set_num_threads(1)
loader = DataLoader(TensorDataset(torch.randn(STEPS * 4, 16)), batch_size=4)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def epoch() -> float:
    begin = time.thread_time_ns()
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return (time.thread_time_ns() - begin) / STEPS / 1e3


PLACES = ((_BaseDataLoaderIter, "__next__"), (DataLoader, "__iter__"))
watchers = [getattr(owner, name) for owner, name in PLACES]
step_hooks = dict(optimizers._global_optimizer_post_hooks)
assert step_hooks and all(hasattr(watcher, "__headway__") for watcher in watchers)


def put_hook(on: bool) -> None:
    optimizers._global_optimizer_post_hooks.clear()
    if on:
        optimizers._global_optimizer_post_hooks.update(step_hooks)
    for (owner, name), watcher in zip(PLACES, watchers, strict=True):
        setattr(owner, name, watcher if on else watcher.__wrapped__)


for _ in range(20):
    epoch()
taken: dict[bool, list[float]] = {True: [], False: []}
for pair in range(pairs):
    for on in (True, False) if pair % 2 else (False, True):
        put_hook(on)
        taken[on].append(epoch())
put_hook(True)
added = [a - b for a, b in zip(taken[True], taken[False], strict=True)]
result = {
    "with": statistics.median(taken[True]),
    "without": statistics.median(taken[False]),
    "added": statistics.median(added),
}
print(json.dumps(result))
