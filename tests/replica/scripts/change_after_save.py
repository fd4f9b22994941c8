"""Saves, and changes every tensor at once; the next run looks at what was saved."""

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
    keeper = hw.checkpointer(os.environ["FOLDER"], model=model)
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
        return
    for step in range(1, 6):
        model.plain.fill_(1.0)
        model.short.fill_(2.0)
        model.column.fill_(3.0)
        model.scalar.fill_(4)
        model.flag.copy_(torch.tensor([True, False]))
        keeper.save(step)
        for tensor in model.state_dict().values():
            tensor.fill_(9)
    keeper.wait()


main()
