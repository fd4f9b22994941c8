"""Saves, and changes every tensor at once; the next run looks at what was saved. STAGING as ever:
of a table the rows that changed are saved, and changed again."""

import os

import torch

import headway as hw


def main() -> None:
    tensors = {
        "plain": torch.full((1000, 333), 1.0),
        "short": torch.full((77,), 2.0, dtype=torch.bfloat16),
        "column": torch.full((50, 40), 3.0).t(),  # not contiguous
        "scalar": torch.tensor(4),
        "none": torch.empty(0, 3),
        "flag": torch.tensor([True, False]),
    }
    model = torch.nn.Module()
    for name, tensor in tensors.items():
        model.register_buffer(name, tensor)
    model.register_buffer("same", tensors["plain"])  # tied
    model.table = torch.nn.Embedding(4000, 64, sparse=True)
    table = model.table.weight.detach()
    rows = torch.arange(0, 4000, 3)
    staging = os.environ.get("STAGING", "full")
    keeper = hw.checkpointer(os.environ["FOLDER"], model=model, staging=staging)
    if os.environ.get("CHECK"):
        for tensor in model.state_dict().values():
            tensor.zero_()
        assert keeper.restore() == 5
        assert model.plain.unique().tolist() == [1.0]
        assert model.short.unique().tolist() == [2.0] and model.short.dtype == torch.bfloat16
        assert model.column.unique().tolist() == [3.0] and model.column.shape == (40, 50)
        assert model.scalar.item() == 4
        assert model.none.shape == (0, 3)
        assert model.flag.tolist() == [True, False]
        assert model.same.data_ptr() == model.plain.data_ptr(), "still tied"
        table = model.table.weight.detach()
        assert table[rows].unique().tolist() == [5.0]
        assert table[1::3].unique().tolist() == [0.5]
        return
    table.fill_(0.5)
    for step in range(1, 6):
        model.plain.fill_(1.0)
        model.short.fill_(2.0)
        model.column.fill_(3.0)
        model.scalar.fill_(4)
        model.flag.copy_(torch.tensor([True, False]))
        table[rows] = float(step)
        if staging == "rows":
            keeper.touched(model.table.weight, rows)
        keeper.save(step)
        assert keeper.staging.mode == staging
        for name, tensor in model.state_dict().items():
            if name != "table.weight":
                tensor.fill_(9)
        table[rows] = 9.0
    keeper.wait()


main()
