"""A deep recommendation model: embedding bags, a bottom and a top MLP, pairwise interaction."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import torch
from torch import nn


def mlp(widths: list[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Dlrm(nn.Module):
    """dense [B, D], sparse [B, T, P] (P ids for each of T tables) -> logit [B]."""

    def __init__(self, dense: int, rows: list[int], width: int = 16) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(n, width, mode="sum") for n in rows])
        self.bottom = mlp([dense, 64, 32, width])
        features = len(rows) + 1
        pairs = torch.tril_indices(features, features, offset=-1)
        self.register_buffer("left", pairs[0], persistent=False)
        self.register_buffer("right", pairs[1], persistent=False)
        self.top = mlp([width + pairs.shape[1], 64, 32, 1])

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        bottom = self.bottom(dense)
        vectors = [bottom] + [table(sparse[:, i]) for i, table in enumerate(self.tables)]
        stacked = torch.stack(vectors, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        interactions = products[:, self.left, self.right]
        return self.top(torch.cat([bottom, interactions], dim=1)).squeeze(-1)


def digest(model: nn.Module) -> str:
    """Of every bit of the weights."""
    whole = hashlib.sha256()
    for tensor in model.state_dict().values():
        whole.update(tensor.numpy().tobytes())
    return whole.hexdigest()[:16]
