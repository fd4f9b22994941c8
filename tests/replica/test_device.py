"""Tensors on a device. There is none here: a stand-in that is as late as it may be with all that is
asked of it (lazy_device.py) takes its place. Nothing of this has run on a GPU."""

from __future__ import annotations

import pytest
import torch
from lazy_device import LazyDevice
from replica_machine import Machine

from headway.checkpoint import device
from headway.checkpoint.memory import _is_adoptable
from headway.checkpoint.parts import OptimizerPart


@pytest.mark.parametrize("staging", ["full", "stream"])
def test_a_save_waits_for_what_it_needs(machine: Machine, staging: str) -> None:
    """For the step before it, and for its own copies."""
    machine.run("device_save.py", STAGING=staging)
    machine.end_holders()
    machine.run("device_save.py", STAGING=staging, CHECK=1)


class Slot(bytearray):
    path = "slot"


@pytest.fixture
def lazy(monkeypatch: pytest.MonkeyPatch) -> LazyDevice:
    lazy = LazyDevice()
    monkeypatch.setattr(device, "backend_of", lambda _tensor: lazy)
    return lazy


def test_a_copy_comes_after_the_step_and_before_the_return(lazy: LazyDevice) -> None:
    slot, source = Slot(16), torch.zeros(4)
    target = torch.frombuffer(slot, dtype=torch.float32)
    lazy.training.queued.append(lambda: source.fill_(7))
    lanes = device.Lanes()
    lanes.copy(slot, [(target, source)])
    assert target.tolist() == [7, 7, 7, 7]
    assert not lazy.training.queued, "the copy waited for the step"


def test_other_streams_are_not_waited_for(lazy: LazyDevice) -> None:
    other, slot = lazy.new_stream(), Slot(16)
    other.queued.append(lambda: pytest.fail("nobody needs this"))
    target = torch.frombuffer(slot, dtype=torch.float32)
    device.Lanes().copy(slot, [(target, torch.ones(4))])


def test_a_slot_is_registered_once_and_given_back(lazy: LazyDevice) -> None:
    slot, lanes = Slot(16), device.Lanes()
    target = torch.frombuffer(slot, dtype=torch.float32)
    for _ in range(3):
        lanes.copy(slot, [(target, torch.ones(4))])
    lanes.release()
    assert lazy.log == ["register", "unregister"]
    assert not lazy.registered


def test_what_is_in_memory_needs_no_device() -> None:
    slot = Slot(16)
    target = torch.frombuffer(slot, dtype=torch.float32)
    lanes = device.Lanes()
    lanes.copy(slot, [(target.view(2, 2), torch.arange(4.0).view(2, 2).t())])
    assert target.tolist() == [0, 2, 1, 3]


def test_a_tensor_on_a_device_never_takes_a_slots_memory() -> None:
    assert _is_adoptable(torch.nn.Parameter(torch.zeros(2)))
    assert not _is_adoptable(torch.nn.Parameter(torch.zeros(2, device="meta")))


@pytest.mark.parametrize("fused", [False, True])
def test_an_optimizers_state_goes_where_its_parameter_is(fused: bool) -> None:
    parameter = torch.nn.Parameter(torch.zeros(2, device="meta"))
    optimizer = torch.optim.Adam([parameter])
    part = OptimizerPart(optimizer, None)
    optimizer.param_groups[0]["fused"] = fused
    saved = part.state()
    saved["state"] = {"#0.0": {"step": torch.tensor(3.0), "exp_avg": torch.ones(2), "n": 1}}
    part.load(saved)
    state = optimizer.state[parameter]
    assert state["exp_avg"].device.type == "meta"
    assert state["step"].device.type == ("meta" if fused else "cpu")
    assert state["n"] == 1
