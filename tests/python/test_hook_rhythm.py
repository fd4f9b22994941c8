"""A loop in its rhythm is handled in C, everything else in Python: both must record the same."""

from __future__ import annotations

import os
import random

from launching import Launcher, Result

SCRIPT = """
import random, sys, threading
import torch, torch.nn as nn
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset

seed, mode = int(sys.argv[1]), sys.argv[2]
rng = random.Random(seed)
torch.manual_seed(seed)

class Faulty(torch.utils.data.Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, i):
        if i == 17:
            raise OSError("a bad shard")
        return (torch.ones(3) * i,)

train, other, held_out = (TensorDataset(torch.randn(n, 3)) for n in (24, 20, 8))
model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
first = torch.optim.SGD(model.parameters(), lr=0.01)
second = torch.optim.Adam(model[1].parameters())
fixed = DataLoader(train, batch_size=4)
faulty = Faulty()
loaders = {
    "fixed": lambda: fixed,
    "fresh": lambda: DataLoader(train, batch_size=4),
    "other": lambda: DataLoader(other, batch_size=5),
    "unknown size": lambda: DataLoader(
        train, batch_sampler=BatchSampler(SequentialSampler(train), 6, False)
    ),
    "faulty": lambda: DataLoader(faulty, batch_size=4),
}

def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()

def both():
    first.step(); second.step()

def twice():
    first.step(); first.step()

steps = [first.step] * 3 + [second.step, both, twice, lambda: in_thread(first.step)]

def evaluate():
    with torch.no_grad():
        for (x,) in DataLoader(held_out, batch_size=2):
            model(x)

def save():
    torch.save(model.state_dict(), "weights.pt")

def nothing():
    pass

def late_compile():
    from torch._dynamo.callback import CallbackTrigger, callback_handler
    def compile():
        with callback_handler.install_callbacks(CallbackTrigger.LAZY_BACKWARD, "0/0"):
            pass
    in_thread(compile)

def epoch():
    every = rng.choice((1, 1, 1, 2, 3))
    step = rng.choice(steps)
    between = rng.choice((nothing, nothing, evaluate, save, late_compile))
    stop = rng.choice((None, None, 3, 4))
    try:
        for i, (x,) in enumerate(loaders[rng.choice(list(loaders))]()):
            model(x).square().mean().backward()
            if i % every == every - 1:
                step()
            if i == 2:
                between()
            if i == stop:
                break
    except OSError:
        pass

import torch._dynamo
if mode != "plain":
    from headway._auto.loop import loop
    if mode == "python":
        loop.settle = lambda optimizer: None
    was_settled = 0
for _ in range(40):
    epoch()
    if mode != "plain":
        was_settled += loop.settled
if mode == "c":
    assert was_settled > 5, "the seed never finds a rhythm"
elif mode == "python":
    assert was_settled == 0
print(sum(p.double().sum().item() for p in model.parameters()))
"""


def records(result: Result) -> list[tuple[object, ...]]:
    result.journal.check_nesting()
    wanted = ("begin", "end", "step", "step_end", "checkpoint")
    rows = [row[2:] for row in result.journal.rows if row.type in wanted]
    # Which stages of start-up are merged depends on how long they took.
    return rows[next(i for i, row in enumerate(rows) if row[0] == "step_end") :]


def test_c_and_python_record_the_same(launch: Launcher) -> None:
    given = os.environ.get("HEADWAY_SEED")
    seeds = [int(given)] if given else [1, 2, random.randrange(1_000_000)]
    for seed in seeds:
        print(f"HEADWAY_SEED={seed}")
        in_c, in_python = (launch.train(SCRIPT, str(seed), mode) for mode in ("c", "python"))
        assert in_c.out == in_python.out
        expected, actual = records(in_python), records(in_c)
        for place, (a, b) in enumerate(zip(actual, expected, strict=False)):
            assert a == b, f"seed {seed}: record {place} is {a}, not {b}"
        assert len(actual) == len(expected)
    plain = launch.train(SCRIPT, str(seeds[-1]), "plain", hook=False)
    assert plain.out == in_c.out


def test_a_failing_device_callback_stops_the_hook_and_not_the_script(launch: Launcher) -> None:
    text = """
    import torch
    from torch.utils.data import DataLoader
    from headway._auto.loop import loop
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for i, x in enumerate(DataLoader(torch.ones(8, 1), batch_size=1)):
        (weight * x).sum().backward()
        if i == 5:
            assert loop.settled
            loop.after_step = lambda step: 1 / 0
        optimizer.step()
    print("trained")
    """
    result = launch.train(text)
    assert result.out == "trained\n"
    assert result.err.count("headway:") == 1 and "ZeroDivisionError" in result.err
    assert [step for step, _ in result.journal.step_ends()] == [1, 2, 3, 4, 5, 6]
