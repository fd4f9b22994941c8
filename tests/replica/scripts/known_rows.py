"""As known_state.py, with an embedding table whose rows are saved by themselves: how often a row
was looked up until a step is known, and so is the table. What is saved besides grows and
shrinks, so that layouts are outgrown all the while."""

import os

import torch
import torch.distributed as dist
from diary import RANKS, train

import headway as hw

ROWS = 30_000


def ids_of(step: int) -> torch.Tensor:
    return torch.randint(ROWS, (300,), generator=torch.Generator().manual_seed(step))


def table_at(step: int) -> torch.Tensor:
    counts = torch.zeros(ROWS)
    for earlier in range(1, step + 1):
        ids = ids_of(earlier)
        counts.index_add_(0, ids, torch.ones(len(ids)))
    return counts[:, None].expand(ROWS, 16)


def grown_at(step: int) -> list[float]:
    return [step / 7] * (step * 7 % 3000)


def main() -> None:
    if RANKS > 1:
        dist.init_process_group("gloo")
    model = torch.nn.Embedding(ROWS, 16, sparse=True)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    values = {"step": 0, "grown": []}
    keeper = hw.checkpointer(
        os.environ["FOLDER"],
        model=model,
        optimizer=optimizer,
        values=values,
        every_steps=int(os.environ.get("EVERY", "3")),
        stage_steps=1,
        staging="rows",
    )
    start = keeper.restore() or 0
    known = torch.equal(model.weight.detach(), table_at(start))
    if values["step"] != start or values["grown"] != grown_at(start) or not known:
        raise SystemExit(f"MIXTURE: not the table of step {start}, values of {values['step']}")

    def change(step: int) -> None:
        optimizer.zero_grad()
        (-model(ids_of(step)).sum()).backward()
        optimizer.step()
        values["grown"] = grown_at(step)

    train(keeper, values, start, change)


main()
