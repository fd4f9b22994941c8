"""Trains a small recommendation model on synthetic click data, with torch.save. Pure PyTorch: it
does not know of Headway. One process, or any number of gloo ranks:

    python train.py --steps 150
    torchrun --nproc-per-node 2 train.py --steps 150 --save-every 20
    headway run --nproc 2 train.py --steps 150

Rank 0 saves to a temporary name that is then renamed; a run that finds the checkpoint goes on from
it. train_headway.py is the same with Headway's checkpoints. The same seed gives the same weights,
however often it was killed on the way.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
from clicks import DENSE, ROWS, loader_from
from model import Dlrm, digest
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A small recommendation model.")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=64, help="for each rank")
    parser.add_argument("--save-every", dest="every", type=int, default=25, help="steps")
    parser.add_argument("--checkpoint", default="checkpoint")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--print-every", type=int, default=10)
    return parser.parse_args()


def save(path: str, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def main() -> None:
    args = arguments()
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    model = Dlrm(DENSE, ROWS)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02)
    start = 0
    if os.path.exists(args.checkpoint):
        state = torch.load(args.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = state["step"]

    loader = loader_from(start, args.steps, args.batch_size, rank, ranks, args.seed)
    wrapped = DistributedDataParallel(model) if ranks > 1 else model
    if not args.no_compile:
        wrapped = torch.compile(wrapped)
    loss_of = nn.BCEWithLogitsLoss()

    for step, (dense, sparse, click) in enumerate(loader, start + 1):
        loss = loss_of(wrapped(dense, sparse), click)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % args.every == 0:
            save(args.checkpoint, step, model, optimizer)
        if rank == 0 and (step % args.print_every == 0 or step == args.steps):
            print(f"step {step} loss {loss.item():.6f}", flush=True)

    if rank == 0:
        print(f"weights {digest(model)}", flush=True)
    if ranks > 1:
        dist.barrier()
        del wrapped  # torch can deadlock in the group's end if DDP is its last user (docs/run.md)
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
