"""A save that came to nothing is counted by the checkpointer, and is in the record of the job."""

from __future__ import annotations

import json

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
