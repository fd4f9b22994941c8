"""Compiles real models, each forward, backward and optimizer, so that TORCH_TRACE has what to tell:

    TORCH_TRACE=DIR python bench/trace/models.py [bert] [dlrm] [varying]

A transformer of the `transformers` package, the recommendation model of examples/dlrm, and a
function whose shapes vary and that breaks its graph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]


def bert() -> None:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        hidden_size=128,
        num_attention_heads=4,
        num_hidden_layers=8,
        intermediate_size=256,
        vocab_size=1000,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForMaskedLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    compiled = torch.compile(model)
    for words in (32, 48):  # the second length makes the graph a dynamic one
        ids = torch.randint(0, 1000, (4, words))
        compiled(input_ids=ids, labels=ids).loss.backward()
        torch.compile(optimizer.step)()
        optimizer.zero_grad()


def dlrm() -> None:
    sys.path.insert(0, str(ROOT / "examples" / "dlrm"))
    from model import Dlrm

    model = Dlrm(13, [100] * 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    compiled = torch.compile(model)
    loss = compiled(torch.randn(64, 13), torch.randint(0, 100, (64, 8, 3))).sum()
    loss.backward()
    torch.compile(optimizer.step)()


def varying() -> None:
    @torch.compile
    def scaled(x: torch.Tensor, times: int) -> torch.Tensor:
        y = torch.relu(x) * times
        if times > 3:
            torch._dynamo.graph_break()
        return y.sum(dim=0) + torch.sin(y).mean()

    for rows, times in ((8, 2), (9, 2), (10, 3), (11, 4), (12, 5)):
        scaled(torch.ones(rows, 4), times)


MODELS: dict[str, Callable[[], None]] = {"varying": varying, "dlrm": dlrm, "bert": bert}


def main() -> None:
    torch.manual_seed(7)
    for name in sys.argv[1:] or MODELS:
        print(f"compiling {name}", file=sys.stderr, flush=True)
        MODELS[name]()


if __name__ == "__main__":
    main()
