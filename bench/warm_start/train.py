"""Trains one step of a compiled model, forward, backward and optimizer, and says how long it took.

    train.py --model dlrm|transformer --out FILE [--save BLOB] [--load BLOB] [--die-once]

The times are on the machine's monotonic clock. `--die-once`: the first process ends with an error
after its first step, so that the one after it starts as a restart does."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import torch
from torch import nn


class Dlrm(nn.Module):
    """Embedding tables, two stacks of layers, and the products of all pairs between them."""

    def __init__(self, tables: int = 8, rows: int = 1000, width: int = 16) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        features = tables + 1
        self.top = nn.Sequential(
            nn.Linear(width + features * (features - 1) // 2, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )
        self.register_buffer("pairs", torch.triu_indices(features, features, 1))

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        low = self.bottom(dense)
        found = [table(sparse[:, i]) for i, table in enumerate(self.tables)]
        stacked = torch.stack([low, *found], 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        chosen = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([low, chosen], 1)).squeeze(1)


class Transformer(nn.Module):
    def __init__(self, words: int = 500, width: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 128, 0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.words(text)))


def make(kind: str) -> tuple[nn.Module, tuple[torch.Tensor, ...], nn.Module, torch.Tensor]:
    if kind == "dlrm":
        batch = (torch.randn(64, 13), torch.randint(0, 1000, (64, 8, 4)))
        return Dlrm(), batch, nn.BCEWithLogitsLoss(), torch.rand(64).round()
    text = torch.randint(0, 500, (8, 32))
    return Transformer(), (text,), nn.CrossEntropyLoss(), text.reshape(-1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("dlrm", "transformer"), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--load", type=Path)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--die-once", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    began_ns = int(os.environ["BENCH_BEGAN_NS"])
    died = Path(f"{args.out}.died")
    if args.die_once and died.exists():
        began_ns = int(died.read_text())
    if args.load:
        torch.compiler.load_cache_artifacts(args.load.read_bytes())
    model, batch, loss_of, target = make(args.model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    forward = torch.compile(model)
    update = torch.compile(optimizer.step)
    ready_ns = time.monotonic_ns()
    losses = []
    for step in range(args.steps):
        answer = forward(*batch)
        loss = loss_of(
            answer.reshape(-1, answer.shape[-1]) if answer.dim() == 3 else answer, target
        )
        loss.backward()
        update()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step > 0:
            continue
        done_ns = time.monotonic_ns()
        if args.die_once and not died.exists():
            died.write_text(str(time.monotonic_ns()))
            os._exit(3)
    counters = torch._dynamo.utils.counters
    found = {
        "first_step_s": (done_ns - ready_ns) / 1e9,
        "process_s": (done_ns - began_ns) / 1e9,
        "losses": losses,
        "counters": {group: dict(counters[group]) for group in ("inductor", "aot_autograd")},
    }
    if args.save:
        artifacts = torch.compiler.save_cache_artifacts()
        assert artifacts is not None
        args.save.write_bytes(artifacts[0])
    args.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
