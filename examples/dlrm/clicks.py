"""Synthetic click data, Criteo-like: the same samples for every process and in any order."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, Dataset

DENSE = 13
ROWS = [20_000, 10_000, 5_000, 2_000, 1_000, 500, 100, 24]
IDS_PER_TABLE = 2


class Clicks(Dataset):
    """Each sample is made from its own index."""

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


def loader_from(start: int, steps: int, batch: int, rank: int, ranks: int, seed: int) -> DataLoader:
    """Batches of this rank from step `start` on."""
    data = Clicks(steps * batch * ranks, seed)
    sampler = Position(start, steps, batch, rank, ranks)
    return DataLoader(data, batch_size=batch, sampler=sampler, num_workers=1)
