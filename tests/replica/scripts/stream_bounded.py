"""Streams tensors that are many times as large as the memory that it may take; the next run looks
at what was saved. ON: `memory`, a tensor out of order, whose copies the process's own memory shows;
or `device`, a stand-in that counts what is copied off it and not yet written."""

import os
import sys
from pathlib import Path

import torch

import headway as hw
from headway.checkpoint import device, stream

sys.path.insert(0, str(Path(__file__).parents[1]))
from lazy_device import LazyDevice

MAY_TAKE = stream.BYTES_MIN
SLACK = 48 << 20  # threads, manifests, pages of libraries that a forked process touches first
WIDE = (7, 3, 1_250_000)  # 100 MiB, of which no row fits once the first two are swapped


def grown(begin: bool) -> int:
    """The most memory since the beginning, in bytes."""
    if begin:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


class Counting(LazyDevice):
    most = 0

    def copy(self, target: torch.Tensor, source: torch.Tensor) -> None:
        assert target.is_contiguous() and target.device.type == "cpu"
        super().copy(target, source)
        self.most = max(self.most, target.untyped_storage().nbytes())


def main() -> None:
    torch.manual_seed(3)
    model = torch.nn.Module()
    model.register_buffer("table", torch.randn(WIDE).transpose(0, 1))
    model.register_buffer("column", torch.randn(50, 40).t())
    model.register_buffer("line", torch.randn(1, 20_000_000)[:, ::2])
    expected = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    keeper = hw.checkpointer(
        os.environ["FOLDER"], model=model, staging="stream", stream_bytes=MAY_TAKE
    )
    if os.environ.get("CHECK"):
        for tensor in model.state_dict().values():
            tensor.zero_()
        assert keeper.restore() == 2
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, expected[name]), name
        keeper.close()
        return
    lazy = Counting()
    if os.environ["ON"] == "device":
        of_device = [
            range(memory.data_ptr(), memory.data_ptr() + memory.nbytes())
            for memory in (tensor.untyped_storage() for tensor in model.state_dict().values())
        ]
        device.backend_of = lambda _tensor: lazy
        stream.address_of = lambda t: (
            0 if any(t.data_ptr() in one for one in of_device) else t.data_ptr()
        )
    begun = grown(True)
    for step in (1, 2):
        keeper.save(step)
        print("in all", (grown(False) - begun) >> 20, "MiB, off the device", lazy.most >> 20)
    assert grown(False) - begun <= MAY_TAKE + SLACK, "more memory than it may take"
    if os.environ["ON"] == "device":
        assert 0 < lazy.most <= MAY_TAKE - stream.WRITER_BYTES
        assert len(lazy.registered) == 1, "the buffer is known to the device, once"
    keeper.close()
    assert not lazy.registered, "given back"


main()
