"""Saves tensors of a device that is late with everything, and changes them at once; the next run
looks at what was saved. STAGING: full or stream."""

import os
import sys
from pathlib import Path

import torch

import headway as hw
from headway.checkpoint import checkpointer, device, stream

sys.path.insert(0, str(Path(__file__).parents[1]))
from lazy_device import LazyDevice


def main() -> None:
    lazy = LazyDevice()
    model = torch.nn.Module()
    model.register_buffer("plain", torch.zeros(3000))
    model.register_buffer("column", torch.zeros(50, 40).t())
    model.register_parameter("weight", torch.nn.Parameter(torch.zeros(7, 7)))
    staging = os.environ.get("STAGING", "full")
    keeper = hw.checkpointer(os.environ["FOLDER"], model=model, staging=staging)
    tensors = [tensor.detach() for tensor in model.state_dict().values()]
    if os.environ.get("CHECK"):
        assert keeper.restore() == 5
        for tensor in model.state_dict().values():
            assert tensor.unique().tolist() == [5.0], tensor.unique()
        return
    device.backend_of = lambda _tensor: lazy
    own = {tensor.data_ptr() for tensor in tensors}
    for module in (checkpointer, stream):
        module.address_of = lambda t: 0 if t.data_ptr() in own else t.data_ptr()
    for step in range(1, 6):
        for tensor in tensors:  # the optimizer's step: queued, not done
            lazy.training.queued.append(lambda t=tensor, s=step: t.fill_(s))
        keeper.save(step)
        lazy.training.run()
        for tensor in tensors:
            tensor.fill_(99)
    assert 1 <= len(lazy.registered) <= 2, "as many as there are slots"
    keeper.close()
    assert not lazy.registered, "given back"


main()
