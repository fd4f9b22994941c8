"""A script that changed since it saved: what does not fit is refused, what is left out is told."""

from __future__ import annotations

import pytest
from replica_machine import Machine


@pytest.mark.parametrize(
    ("saved", "now"), [("AdamW", "SGD"), ("SGD", "AdamW"), ("Adagrad", "Adam"), ("AdamW", "Adam")]
)
def test_another_optimizer_is_refused_once(machine: Machine, saved: str, now: str) -> None:
    machine.run("changed.py", MODE="save", OPTIMIZER=saved)
    machine.end_holders()
    output = machine.run("changed.py", MODE="go on", OPTIMIZER=now)
    assert "CheckpointMismatchError: " in output, output
    assert output.count("another kind of optimizer") == 1 and f"and {now} has " in output, output
    way_out = 'restore(allow_missing=["optimizer"]) keeps the weights and begins the optimizer anew'
    assert output.count(way_out) == 1, output


def weights(output: str, word: str) -> str:
    """The sum that a line ends with."""
    (line,) = [line for line in output.splitlines() if line.startswith(word)]
    return line.split()[-1]


@pytest.mark.parametrize("tier", ["disk", "replica"])
@pytest.mark.parametrize(("saved", "now"), [("AdamW", "SGD"), ("SGD", "AdamW"), ("AdamW", "Adam")])
def test_another_optimizer_may_begin_anew(
    machine: Machine, saved: str, now: str, tier: str
) -> None:
    """With the weights that there are; and it is as good as any from then on."""
    killed = {"KILL": 1, "code": -9} if tier == "replica" else {}
    before = machine.run("changed.py", MODE="save", OPTIMIZER=saved, SCHEDULER=1, **killed)
    if tier == "disk":
        machine.end_holders()
    changed = {"MODE": "go on", "OPTIMIZER": now, "SCHEDULER": 1, "ALLOW": "optimizer"}
    output = machine.run("changed.py", **changed)
    assert f"restored 5 {tier} {weights(before, 'saved')}" in output, output
    assert "optimizer as made" in output and "saved 6" in output, output
    told = "headway: optimizer is not restored and begins anew, as the script made it: saved was "
    assert output.count(told) == 1, output
    machine.end_holders()
    output = machine.run("changed.py", **changed)
    assert "restored 6 disk" in output and "optimizer restored" in output, output
    assert "begins anew" not in output, "what may be missing is taken where it is there"


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        ("two", "2 parameter groups, saved were 1"),
        ("no bias", "state was saved for bias, which is not among its parameters"),
    ],
)
def test_other_parameters_are_refused_before_anything_changes(
    machine: Machine, groups: str, why: str
) -> None:
    machine.run("changed.py", MODE="save", OPTIMIZER="AdamW")
    machine.end_holders()
    changed = {"MODE": "go on", "OPTIMIZER": "AdamW", "GROUPS": groups}
    output = machine.run("changed.py", **changed)
    assert "CheckpointMismatchError: " in output and f"optimizer: {why}; restore(" in output, output
    output = machine.run("changed.py", **changed, ALLOW="optimizer")
    assert "restored 5 disk" in output and "optimizer as made" in output, output
    assert f"as the script made it: {why}" in output, output


def test_the_same_optimizer_with_a_new_scheduler_is_not(machine: Machine) -> None:
    """A scheduler leaves a key of its own in the groups."""
    machine.run("changed.py", MODE="save", OPTIMIZER="AdamW", SCHEDULER=1)
    machine.end_holders()
    output = machine.run("changed.py", MODE="go on", OPTIMIZER="AdamW")
    assert "restored 5" in output
    told = "headway: saved and not restored, because the checkpointer is given none of this name: "
    assert output.count(told + "scheduler") == 1, output
