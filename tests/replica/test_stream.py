"""Straight to the disk, through a buffer of a fixed size, whatever the tensors are."""

from __future__ import annotations

import json

import pytest
from replica_machine import Machine


@pytest.mark.parametrize("on", ["memory", "device"])
def test_no_tensor_is_too_large_for_the_buffer(machine: Machine, on: str) -> None:
    """Out of order in memory, or on a device: it is cut, and is one again for whoever reads it."""
    machine.run("stream_bounded.py", ON=on)
    machine.run("stream_bounded.py", ON=on, CHECK=1)
    newest = max(machine.checkpoints.glob("step-*"))
    machine.headway("ckpt", "verify", newest)
    shown = json.loads(machine.headway("ckpt", "show", newest, "model.table", "--json"))
    assert shown["shape"] == [3, 7, 1_250_000], shown


def test_torch_reads_what_was_cut(machine: Machine) -> None:
    torch = pytest.importorskip("torch")
    from torch.distributed.checkpoint import HuggingFaceStorageReader, load

    machine.run("stream_bounded.py", ON="memory")
    newest = max(machine.checkpoints.glob("step-*"))
    torch.manual_seed(3)
    table = torch.randn(7, 3, 1_250_000).transpose(0, 1).contiguous()
    state = {"model.table": torch.zeros_like(table)}
    load(state, storage_reader=HuggingFaceStorageReader(str(newest)), no_dist=True)
    assert torch.equal(state["model.table"], table)
