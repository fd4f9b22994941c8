"""Saved states that a job cannot go on from: each is named, damaged ones as damaged and others as
what does not fit; and what is only new in the script may be missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from replica_machine import Machine


def checkpoint(machine: Machine, step: int) -> Path:
    (found,) = machine.checkpoints.glob(f"step-{step:08}-*")
    return found


def cut(machine: Machine, step: int) -> str:
    """What a look at it shows."""
    shard = checkpoint(machine, step) / "rank-00000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    return str(shard)


def flip(machine: Machine, step: int) -> str:
    """What only reading it shows."""
    shard = checkpoint(machine, step) / "rank-00000.safetensors"
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 0x40
    shard.write_bytes(content)
    return str(shard)


def last_line(output: str) -> str:
    return next(line for line in output.splitlines() if line.startswith("headway.checkpoint."))


def saved(machine: Machine) -> None:
    machine.run("train.py", STEPS=6, EVERY=2, KEEP=0, SURE=1)
    machine.end_holders()
    assert machine.steps() == [1, 2, 3, 4, 5, 6]


def test_a_manifest_that_is_gone_is_no_beginning(machine: Machine) -> None:
    """What LATEST names was a checkpoint: somebody has taken a part of it away."""
    saved(machine)
    (checkpoint(machine, 6) / "MANIFEST.json").unlink()
    output = machine.run("train.py", STEPS=8)
    assert "a checkpoint is passed over" in output and "no MANIFEST.json" in output
    assert "goes on after 5 from disk" in output
    machine.end_holders()
    for path in machine.checkpoints.glob("step-*/MANIFEST.json"):
        path.unlink()
    output = machine.run("train.py", STEPS=9, code=1)
    assert "CheckpointDamagedError" in last_line(output) and "MANIFEST.json" in last_line(output)
    assert list(machine.checkpoints.glob("step-*/*.safetensors")), "nothing is thrown away"


@pytest.mark.parametrize("staging", ["full", "stream"])
def test_what_was_passed_over_pushes_no_good_one_out(machine: Machine, staging: str) -> None:
    machine.run("train.py", STEPS=4, EVERY=1, KEEP=0, WAIT=1, SURE=1)
    machine.end_holders()
    flip(machine, 4)
    arguments = {"EVERY": 1, "KEEP": 3, "WAIT": 1, "SURE": 1, "STAGING": staging}
    output = machine.run("train.py", STEPS=5, **arguments)
    assert "step 4 (disk) is passed over" in output and "goes on after 3 from disk" in output
    machine.end_holders()
    good = machine.headway("ckpt", "verify", machine.checkpoints, code=1)
    assert len(re.findall(r"step-\S+ . good", good)) == 3, "keep_last of those that are"
    assert machine.steps() == [3, 4, 4, 5]


def test_damaged_ones_and_those_that_do_not_fit_are_told_apart(machine: Machine) -> None:
    saved(machine)
    bad = [flip(machine, 6), cut(machine, 5), flip(machine, 4), cut(machine, 3)]
    said = last_line(machine.run("train.py", STEPS=6, WIDTH=32, code=1))
    kind, _, text = said.partition(": ")
    assert kind == "headway.checkpoint.CheckpointMismatchError"
    assert text.startswith(f"{machine.checkpoints}: none of 6 saved states can be gone on from: ")
    fits, _, damaged = text.partition("; damaged: ")
    assert "does not fit: step 2 (disk), step 1 (disk): model.0.weight: F32 [32, 32]" in fits
    assert sum(path in damaged for path in bad) == 3 and "and 1 more" in damaged, damaged
    assert said.endswith("To begin anew, save into another folder")


def test_if_all_are_damaged_the_error_says_so(machine: Machine) -> None:
    saved(machine)
    for step in (1, 2, 3):
        cut(machine, step)
    for step in (4, 5, 6):
        flip(machine, step)
    output = machine.run("train.py", STEPS=6, code=1)
    said = last_line(output)
    assert said.startswith("headway.checkpoint.CheckpointDamagedError: ")
    assert "none of 6 saved states can be gone on from: damaged: step 6 (disk): " in said
    assert "fit" not in said
    assert "passed over" not in output, "the error says it all"


def test_what_is_new_may_be_missing_in_memory(machine: Machine) -> None:
    machine.run("grown.py", MODE="save", KILL=1, code=-9)
    said = machine.run("grown.py", MODE="go on", ALLOW="values,model.1")
    assert "restored 5 replica {'seen': 3}" in said and "saved 6" in said, said


def test_what_is_new_may_be_missing_on_disk(machine: Machine) -> None:
    machine.run("grown.py", MODE="save")
    machine.end_holders()
    said = machine.run("grown.py", MODE="go on")
    assert (
        "values, model.1.weight, model.1.bias: not in what was saved; to keep what is there now of "
        "it, restore(allow_missing=['values', 'model.1'])" in said
    )
    said = machine.run("grown.py", MODE="go on", ALLOW="valeus")
    assert "CheckpointUsageError: checkpointer: allow_missing names 'valeus'; there are" in said
    said = machine.run("grown.py", MODE="go on", ALLOW="values")
    assert "model.1.weight, model.1.bias: not in what was saved" in last_line(said)
    said = machine.run("grown.py", MODE="go on", ALLOW="values,model.1")
    assert "restored 5 disk {'seen': 3} 5" in said
    assert "saved 6" in said
    machine.end_holders()
    assert machine.steps() == [5, 6]
    said = machine.run("grown.py", MODE="go on")
    assert "restored 6 disk {'seen': 3} 6" in said
