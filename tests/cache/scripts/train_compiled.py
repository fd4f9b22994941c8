"""A small compiled training; tells what torch's caches said and which files it ran.

usage: train_compiled.py OUT [--sizes 8,8,8] [--group] [--killed-once SECONDS] [--precompile]
                         [--meet OWN OTHER] [--until FILE]
"""

import argparse
import json
import os
import signal
import time
from pathlib import Path

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("out", type=Path)
parser.add_argument("--sizes", default="8,8,8")
parser.add_argument("--group", action="store_true")
parser.add_argument("--killed-once", type=float, help="in the first attempt, so long after the end")
parser.add_argument("--precompile", action="store_true", help="keeps what dynamo made, too")
parser.add_argument("--meet", type=Path, nargs=2, help="begins when another job has begun, too")
parser.add_argument("--until", type=Path, help="after the last step, until this file is there")
args = parser.parse_args()


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 600
    while not file.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"{file} never came")
        time.sleep(0.05)


if args.meet:
    args.meet[0].touch()
    wait_for(args.meet[1])
rank = int(os.environ.get("RANK", "0"))
if args.group:
    dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.compile
def loss_of(x: torch.Tensor) -> torch.Tensor:
    return model(x).tanh().square().sum()


losses = []
for rows in map(int, args.sizes.split(",")):
    loss = loss_of(torch.ones(rows, 8))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
if args.until:
    wait_for(args.until)
if args.killed_once is not None and os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0":
    time.sleep(args.killed_once)
    os.kill(os.getpid(), signal.SIGKILL)
if args.precompile:
    from torch._dynamo.precompile_context import PrecompileContext

    PrecompileContext.save_to_dynamo_cache()
counters = torch._dynamo.utils.counters
args.out.with_suffix(f".{rank}.json").write_text(
    json.dumps({"losses": losses, "counters": {name: dict(c) for name, c in counters.items()}})
)
if args.group:
    dist.destroy_process_group()
