"""A save that came to nothing is counted by the checkpointer, and is in the record of the job."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from replica_machine import SCRIPTS, Machine


@pytest.mark.parametrize("staging", ["full", "stream"])
def test_it_is_counted_and_recorded(machine: Machine, staging: str) -> None:
    output = machine.headway("run", "--job", "j", SCRIPTS / "fails.py", STAGING=staging)
    assert "failed 1 1" in output and "failed 1 3" in output, output
    lines = machine.headway("export", "j", "--format", "jsonl").splitlines()
    events = [json.loads(line) for line in lines]
    states = {(e["step"], e["state"]) for e in events if e.get("type") == "checkpoint"}
    assert {step for step, state in states if state == "failed"} == {2}, states
    assert {step for step, state in states if state == "durable"} == {1, 3}, states


def test_what_an_earlier_one_has_left_is_not_counted() -> None:
    """Its holder may still try to write it, and tells whoever saves into the folder now."""
    from headway.checkpoint.outcome import Outcome

    news: list[Any] = [("failed", 8, "the disk is full", 0.0, 0)]
    trainer = SimpleNamespace(news=lambda: [news.pop() for _ in news[:]])
    cadence = SimpleNamespace(settled=lambda step, durable: None)
    outcome = Outcome(trainer, SimpleNamespace(rank=0), cadence)  # type: ignore[arg-type]
    with pytest.warns(RuntimeWarning, match="step 8 did not get to the disk"):
        outcome.look(None)
    assert outcome.failed == 0 and outcome.lost is None
    outcome.awaits(9)
    news.append(("failed", 9, "the disk is full", 0.0, 0))
    with pytest.warns(RuntimeWarning, match="step 9"):
        assert not outcome.wait(1.0, None)
    assert outcome.failed == 1 and outcome.lost is not None


def test_a_streamed_save_that_failed_is_a_checkpoint_error(machine: Machine) -> None:
    """By the name that the docs have."""
    output = machine.run("streams_nowhere.py")
    assert "CheckpointError checkpointer: step 2 is not saved: " in output, output
