"""Trains a small recommendation model on synthetic click data. Pure PyTorch: it does not know of
Headway. One process, or any number of gloo ranks:

    python train.py --steps 150
    torchrun --nproc-per-node 2 train.py --steps 150 --checkpoint run.pt --save-every 20
    headway run --nproc 2 train.py --steps 150

Rank 0 saves every --save-every steps, to a temporary name that is then renamed; a run that finds
the checkpoint continues from it. The same seed gives the same final loss.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

import torch
import torch.distributed as dist
from model import Dlrm
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

DENSE = 13
ROWS = [20_000, 10_000, 5_000, 2_000, 1_000, 500, 100, 24]
IDS_PER_TABLE = 2


class Clicks(Dataset):
    """Criteo-like samples, each made from its own index: any order, any process, the same data."""

    def __init__(self, samples: int, seed: int) -> None:
        self.samples = samples
        self.seed = seed

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        rng = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
        dense = torch.randn(DENSE, generator=rng)
        skewed = torch.rand(len(ROWS), IDS_PER_TABLE, generator=rng) ** 3
        sparse = (skewed * torch.tensor(ROWS).unsqueeze(1)).long()
        signal = dense[:4].sum() + (sparse[:, 0] % 7 - 3).float().mean()
        click = torch.rand((), generator=rng) < torch.sigmoid(signal)
        return dense, sparse, click.float()


class Position:
    """Samples for one rank from a given step on: step s uses batch s, whoever starts there."""

    def __init__(self, start: int, steps: int, batch: int, rank: int, ranks: int) -> None:
        self.start, self.steps, self.batch, self.rank, self.ranks = start, steps, batch, rank, ranks

    def __iter__(self) -> Iterator[int]:
        for step in range(self.start, self.steps):
            first = (step * self.ranks + self.rank) * self.batch
            yield from range(first, first + self.batch)

    def __len__(self) -> int:
        return (self.steps - self.start) * self.batch


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A small recommendation model.")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=64, help="for each rank")
    parser.add_argument("--save-every", type=int, default=25, help="0: never")
    parser.add_argument("--checkpoint", default="dlrm.pt")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
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

    data = Clicks(args.steps * args.batch_size * ranks, args.seed)
    loader = DataLoader(
        data,
        batch_size=args.batch_size,
        sampler=Position(start, args.steps, args.batch_size, rank, ranks),
        num_workers=args.workers,
    )
    wrapped = DistributedDataParallel(model) if ranks > 1 else model
    if not args.no_compile:
        wrapped = torch.compile(wrapped)
    loss_of = nn.BCEWithLogitsLoss()

    for step, (dense, sparse, click) in enumerate(loader, start + 1):
        loss = loss_of(wrapped(dense, sparse), click)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and (step % args.print_every == 0 or step == args.steps):
            print(f"step {step} loss {loss.item():.6f}", flush=True)
        if rank == 0 and args.save_every and step % args.save_every == 0:
            save(args.checkpoint, step, model, optimizer)
    if ranks > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
