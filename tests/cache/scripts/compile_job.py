"""Compiles small functions, forward and backward, and tells what the caches said and what came out.

usage: compile_job.py [--load BLOB] [--save BLOB] [--twice]
"""

import argparse
import json

import torch
from torch._dynamo.utils import counters

parser = argparse.ArgumentParser()
parser.add_argument("--load")
parser.add_argument("--save")
parser.add_argument("--twice", action="store_true")
arguments = parser.parse_args()

if arguments.load:
    with open(arguments.load, "rb") as file:
        assert torch.compiler.load_cache_artifacts(file.read()) is not None


@torch.compile
def first(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * 2).sum()


@torch.compile
def second(x: torch.Tensor) -> torch.Tensor:
    return (x.cos() + x).sum()


def save() -> None:
    artifacts = torch.compiler.save_cache_artifacts()
    assert artifacts is not None
    with open(arguments.save, "wb") as file:
        file.write(artifacts[0])


results = []
for rows in (4, 6):
    x = torch.linspace(0, 1, rows * 8).reshape(rows, 8).clone().requires_grad_()
    loss = first(x)
    loss.backward()
    results += [loss.item(), x.grad.sum().item()]
if arguments.save:
    save()
if arguments.twice:
    second(torch.ones(4, 8, requires_grad=True)).backward()
    save()
told = {name: dict(values) for name, values in counters.items()}
print(json.dumps(told | {"results": results}))
