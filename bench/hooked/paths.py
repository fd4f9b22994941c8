"""Run under the hook: what its own code takes for one step (a batch, then an optimizer step), in a
tight loop around a function that does nothing. Prints microseconds a step.

usage: paths.py STEPS
"""

import gc
import sys
import time

import torch
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader

from headway._auto.loop import loop
from headway._recorder import core

ROUNDS = 9
steps = int(sys.argv[1])


def nothing(_iterator: object) -> None:
    return None


def best_of(run: object) -> float:
    """Seconds of CPU time of the fastest round."""
    run(2000)
    return min(timed(run) for _ in range(ROUNDS))


def timed(run: object) -> float:
    begin = time.thread_time()
    run(steps)
    return time.thread_time() - begin


parameter = torch.nn.Parameter(torch.zeros(1))
optimizer = torch.optim.SGD([parameter], lr=0.1)
iterator = iter(DataLoader(torch.zeros(8, 1), batch_size=1))
for _ in range(4):  # the loop finds its rhythm
    next(iterator)
    parameter.sum().backward()
    optimizer.step()
assert loop.settled, "this bench measures the path of every step"

(step_hook,) = optimizers._global_optimizer_post_hooks.values()
watched = core.Around(nothing, loop.next_enter, loop.next_leave)


def with_hook(count: int) -> None:
    for _ in range(count):
        watched(iterator)
        step_hook(optimizer, (), {})


def without(count: int) -> None:
    for _ in range(count):
        nothing(iterator)


gc.disable()
before = core.stats()["records"]
added = best_of(with_hook) - best_of(without)
recorded = core.stats()["records"] + core.stats()["dropped"] - before
assert recorded == 4 * (2000 + ROUNDS * steps), recorded
print(added / steps * 1e6)
