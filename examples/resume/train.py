"""Data-parallel training that can be killed at any moment: a checkpoint is written beside the old
one and renamed, so there is always a whole one to resume from. Knows nothing of Headway.

Try: headway run --nproc 2 --max-restarts 3 examples/resume/train.py
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, Sampler

BATCH = 8


class Waves(Dataset):
    """Sample i is always the same one."""

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.sin(torch.arange(16) * (i % 1009 + 1) / 100)
        return x, x.sum().reshape(1)


class FromStep(Sampler):
    """This rank's samples of every step from `first` on; what is fetched ahead is not counted."""

    def __init__(self, first: int, last: int, rank: int, ranks: int) -> None:
        self.steps, self.rank, self.ranks = range(first, last), rank, ranks

    def __iter__(self):
        for step in self.steps:
            begin = (step * self.ranks + self.rank) * BATCH
            yield from range(begin, begin + BATCH)

    def __len__(self) -> int:
        return len(self.steps) * BATCH


def save(path: str, step: int, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    state = {"step": step, "net": net.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--checkpoint", default="resume.pt")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    first = 0
    if os.path.exists(args.checkpoint):
        state = torch.load(args.checkpoint)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    model = DistributedDataParallel(net)
    loader = DataLoader(Waves(), batch_size=BATCH, sampler=FromStep(first, args.steps, rank, ranks))
    loss = torch.zeros(())
    for step, (x, y) in enumerate(loader, first + 1):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if rank == 0 and (step % args.save_every == 0 or step == args.steps):
            save(args.checkpoint, step, net, optimizer)
    if rank == 0:
        weights = sum(p.double().sum().item() for p in net.parameters())
        print(f"done after step {args.steps}: weights sum to {weights:.12f}", flush=True)
    del model  # torch can deadlock in the group's end if DDP is its last user (docs/run.md)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
