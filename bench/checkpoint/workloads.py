"""Trainings whose state is to be saved: what a step does, and what its state is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

GIB = 1 << 30


class Workload(NamedTuple):
    model: torch.nn.Module
    optimizer: Any
    step: Callable[[], None]
    rows: int = 0  # of all tables
    touched_by: Callable[[int], int] | None = None  # how many of them, by so many steps


def dense(gib: float) -> Workload:
    """Parameters and Adam's two moments, `gib` in all."""
    width = 4096
    layers = max(1, round(gib * GIB / 12 / width / width))
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(width, width, bias=False) for _ in range(layers)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, foreach=True)
    batch = torch.randn(16, width)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(batch).square().mean().backward()
        optimizer.step()

    return Workload(model, optimizer, step)


class Ranking(torch.nn.Module):
    """Embedding tables and a small network on top of them."""

    def __init__(self, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.tables = torch.nn.ModuleList(
            torch.nn.EmbeddingBag(rows, width, mode="sum", sparse=True) for _ in range(tables)
        )
        self.top = torch.nn.Sequential(
            torch.nn.Linear(tables * width, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)
        )

    def forward(self, ids: list[torch.Tensor]) -> torch.Tensor:
        bags = [table(one) for table, one in zip(self.tables, ids, strict=True)]
        return self.top(torch.cat(bags, dim=1))


class Both:
    """Two optimizers that step together: tables change only where they were looked up."""

    def __init__(self, model: Ranking) -> None:
        self.tables = torch.optim.SGD(model.tables.parameters(), lr=0.01)
        self.top = torch.optim.Adam(model.top.parameters())

    def step(self) -> None:
        self.tables.step()
        self.top.step()

    def zero_grad(self) -> None:
        self.tables.zero_grad(set_to_none=True)
        self.top.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Any]:
        return {"top": self.top.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.top.load_state_dict(state["top"])


STEPS_BETWEEN = 20  # batches that differ: as many as there are steps between two saves


def tables(gib: float, share: float = 0.01) -> Workload:
    """`gib` of tables, of whose rows about `share` are touched in a step, by Zipf's law, and other
    ones in the next."""
    count, width = 8, 64
    rows = round(gib * GIB / count / width / 4)
    torch.manual_seed(0)
    model = Ranking(count, rows, width)
    optimizer = Both(model)
    bags, generator = 2048, torch.Generator().manual_seed(1)
    # Enough look-ups that the rows which differ are the share that was asked for.
    lookups = max(bags, round(rows * share * 2.7) // bags * bags)

    def ids() -> torch.Tensor:
        uniform = torch.rand(lookups, generator=generator, dtype=torch.float64)
        # Inverse of the distribution of a Zipf-like law with exponent 1.05.
        exponent = 1 - 1.05
        top = float(rows) ** exponent
        return ((uniform * (top - 1) + 1) ** (1 / exponent) - 1).long().clamp_(0, rows - 1)

    batches = [[ids().view(bags, -1) for _ in range(count)] for _ in range(STEPS_BETWEEN)]
    turn = [0]

    def step() -> None:
        turn[0] += 1
        optimizer.zero_grad()
        model(batches[turn[0] % len(batches)]).square().mean().backward()
        optimizer.step()

    def touched_by(steps: int) -> int:
        met = torch.zeros(count, rows, dtype=torch.bool)
        for batch in batches[:steps]:
            for table, one in enumerate(batch):
                met[table, one.view(-1)] = True
        return int(met.count_nonzero().item())

    return Workload(model, optimizer, step, count * rows, touched_by)


def make(name: str, gib: float) -> Workload:
    return {"dense": dense, "tables": tables}[name](gib)
