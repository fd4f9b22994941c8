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


def test_the_same_optimizer_with_a_new_scheduler_is_not(machine: Machine) -> None:
    """A scheduler leaves a key of its own in the groups."""
    machine.run("changed.py", MODE="save", OPTIMIZER="AdamW", SCHEDULER=1)
    machine.end_holders()
    output = machine.run("changed.py", MODE="go on", OPTIMIZER="AdamW")
    assert "restored 5" in output
    told = "headway: saved and not restored, because the checkpointer is given none of this name: "
    assert output.count(told + "scheduler") == 1, output
