"""A training script that survives preemption; it does not know of Headway or Slurm.

At SIGTERM it finishes the step, saves and ends. All ranks have to agree on the step: the flag is
part of every step's all-reduce, so nobody waits for a peer that has left. See train.sbatch.
"""

from __future__ import annotations

import argparse
import os
import signal
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

asked_to_stop = False


def on_sigterm(*_: object) -> None:
    global asked_to_stop
    asked_to_stop = True


def all_agree_to_stop() -> bool:
    flag = torch.tensor([float(asked_to_stop)])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())


def save(path: str, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains, saves when told to stop, resumes.")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--checkpoint", default="preemptible.pt")
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--step-s", type=float, default=0, help="sleep in every step, to watch it")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    signal.signal(signal.SIGTERM, on_sigterm)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    start = 0
    if os.path.exists(args.checkpoint):
        state = torch.load(args.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["step"]
    wrapped = DistributedDataParallel(model)

    for step in range(start + 1, args.steps + 1):
        x = torch.randn(64, 16)
        loss = nn.functional.mse_loss(wrapped(x), x.sin().sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(args.step_s)
        stopping = all_agree_to_stop()
        if rank == 0:
            print(f"step {step}", flush=True)
            if stopping or step % args.save_every == 0 or step == args.steps:
                save(args.checkpoint, step, model, optimizer)
        if stopping:
            break
    dist.barrier()  # nobody leaves before the checkpoint is there
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
