"""Trains a small recommendation model on synthetic click data, with hw.checkpointer:

    headway run --nproc 2 --max-restarts 3 train_headway.py --steps 150 --save-every 20

Saved into memory every ten steps, to the disk every --save-every. train.py is the same with
torch.save: see how the two differ.
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

import headway as hw


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


def main() -> None:
    args = arguments()
    rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    model = Dlrm(DENSE, ROWS)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02)
    keeper = hw.checkpointer(
        args.checkpoint, model=model, optimizer=optimizer, every_steps=args.every, stage_steps=10
    )
    start = keeper.restore() or 0

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
        keeper.maybe_save(step)
        if rank == 0 and (step % args.print_every == 0 or step == args.steps):
            print(f"step {step} loss {loss.item():.6f}", flush=True)
    keeper.close()
    if rank == 0:
        print(f"weights {digest(model)}", flush=True)
    if ranks > 1:
        dist.barrier()
        del wrapped  # torch can deadlock in the group's end if DDP is its last user (docs/run.md)
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
