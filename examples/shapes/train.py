"""A model whose batches are never of the same shape: sessions of a shop, ranked.

    headway run --auto-dynamic examples/shapes/train.py
    headway run --auto-dynamic examples/shapes/train.py    # learnt: one compilation a graph

Every batch has another number of sessions, another length of the longest one and another number of
items that were not clicked. torch.compile first compiles for the sizes that it meets, then, with
the second batch, again for any. Four graphs, forward and backward: two modules, of which one is cut
by a graph break, and the loss.
"""

from __future__ import annotations

import argparse
import random

import torch
from torch import Tensor, nn

FEATURES = {"country": 40, "device": 12, "hour": 24, "ad-group": 300}
ITEMS = 2000
WIDTH = 32


class Sessions(nn.Module):
    """What a visitor looked at, in order, as one vector."""

    def __init__(self) -> None:
        super().__init__()
        self.items = nn.Embedding(ITEMS, WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.mix = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, seen: Tensor, lengths: Tensor) -> Tensor:
        vectors = self.items(seen)
        there = torch.arange(seen.shape[1]) < lengths[:, None]
        weights = (self.query(vectors) * vectors).sum(-1).masked_fill(~there, -1e9).softmax(-1)
        return self.mix((weights[..., None] * vectors).sum(1))


class Visitors(nn.Module):
    """Who looks: features beside the session. The check in between is not compiled."""

    def __init__(self) -> None:
        super().__init__()
        tables = {name: nn.Embedding(size, WIDTH) for name, size in FEATURES.items()}
        self.tables = nn.ModuleDict(tables)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, session: Tensor, batch: dict[str, Tensor]) -> Tensor:
        total = session
        for name, table in self.tables.items():
            total = total + table(batch[name])
        torch._dynamo.graph_break()
        return torch.tanh(self.out(total)) * batch["weight"][:, None]


def ranking_loss(visitor: Tensor, clicked: Tensor, others: Tensor, shown: int) -> Tensor:
    """`others`: items that were not clicked, of `shown` in all."""
    good = (visitor * clicked).sum(-1, keepdim=True)
    bad = torch.einsum("bw,bnw->bn", visitor, others)
    return nn.functional.softplus(bad - good).sum(1).mean() / shown


def make_batch(rng: random.Random) -> tuple[dict[str, Tensor], int]:
    rows, length, others = rng.randrange(24, 65), rng.randrange(6, 30), rng.randrange(3, 12)
    draw = torch.Generator().manual_seed(rng.randrange(1 << 30))
    batch = {name: torch.randint(n, (rows,), generator=draw) for name, n in FEATURES.items()}
    batch["seen"] = torch.randint(ITEMS, (rows, length), generator=draw)
    batch["lengths"] = torch.randint(1, length + 1, (rows,), generator=draw)
    batch["clicked"] = batch["seen"][:, 0].clone()
    batch["others"] = torch.randint(ITEMS, (rows, others), generator=draw)
    batch["weight"] = torch.rand(rows, generator=draw) + 0.5
    return batch, others + 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    sessions, visitors = Sessions(), Visitors()
    parameters = [*sessions.parameters(), *visitors.parameters()]
    optimizer = torch.optim.Adagrad(parameters, lr=0.05)
    encode = torch.compile(sessions, backend=args.backend)
    know = torch.compile(visitors, backend=args.backend)
    loss_of = torch.compile(ranking_loss, backend=args.backend)
    for step in range(args.steps):
        batch, shown = make_batch(rng)
        session = encode(batch["seen"], batch["lengths"])
        visitor = know(session, batch)
        clicked, others = sessions.items(batch["clicked"]), sessions.items(batch["others"])
        loss = loss_of(visitor, clicked, others, shown)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 20 == 0 or step + 1 == args.steps:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
