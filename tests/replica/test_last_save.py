"""A last save that does not get to the disk is no quiet end: whoever waits for it is told, the job
does not end as a success, and the next run finds the step in memory."""

from __future__ import annotations

import re
import shutil

import pytest
from fault_training import ext4, needs_root
from replica_machine import SCRIPTS, Machine

NOT_THERE = "step 4 is not on disk, the last that is, is step 3: "
AGAIN = (
    "the copy in memory stays for a while: mend that, run {} again within ten minutes, and it goes "
    "on from there"
)


def mend(machine: Machine) -> None:
    machine.checkpoints.unlink()
    shutil.move(f"{machine.checkpoints}.aside", machine.checkpoints)


def goes_on(machine: Machine) -> None:
    """From memory, and now it gets to the disk."""
    output = machine.run("last_save.py", HOW="close")
    assert "goes on after 4 replica" in output, output
    machine.end_holders()
    assert machine.steps()[-1] == 4


def test_close_raises_and_says_what_to_do(machine: Machine) -> None:
    output = machine.run("last_save.py", HOW="close", BREAK=1, code=3)
    assert "wait False 1 3" in output, output
    (said,) = re.findall(r"^CheckpointError: (.*)$", output, re.MULTILINE)
    assert said.startswith(f"checkpointer: {machine.checkpoints}: {NOT_THERE}"), said
    assert said.endswith(AGAIN.format("this script")), said
    assert "raining goes on" not in said, "it is over"
    mend(machine)
    goes_on(machine)


def test_save_that_waits_raises(machine: Machine) -> None:
    output = machine.run("last_save.py", HOW="save", BREAK=1, code=3)
    assert re.search(rf"^CheckpointError: .*{NOT_THERE}", output, re.MULTILINE), output
    mend(machine)
    goes_on(machine)


def test_without_a_copy_in_memory(machine: Machine) -> None:
    output = machine.run("last_save.py", HOW="close", BREAK=1, STAGING="stream", code=3)
    assert "wait False 1 3" in output, output
    assert re.search(rf"^CheckpointError: .*{NOT_THERE}.*save the result elsewhere", output, re.M)
    mend(machine)
    assert machine.steps() == [1, 2, 3]


def test_whoever_forgets_to_close_is_told(machine: Machine) -> None:
    output = machine.run("last_save.py", HOW="forget", BREAK=1)
    assert output.count(f"headway: {machine.checkpoints}: {NOT_THERE}") == 1, output
    mend(machine)
    goes_on(machine)


def test_an_exception_of_the_script_is_not_hidden(machine: Machine) -> None:
    output = machine.run("last_save.py", HOW="finally", BREAK=1, code=1)
    assert output.rstrip().endswith("ValueError: of the script"), output
    assert f"RuntimeWarning: headway: {machine.checkpoints}: {NOT_THERE}" in output
    mend(machine)
    goes_on(machine)


@pytest.mark.parametrize("staging", ["full", "stream"])
def test_close_tries_once_more(machine: Machine, staging: str) -> None:
    output = machine.run("last_save.py", HOW="retry", BREAK=1, STAGING=staging)
    assert "wait False 1 3" in output and "closed 4" in output, output
    machine.end_holders()
    assert machine.steps()[-1] == 4


def test_what_is_staged_only_is_on_disk_after_close(machine: Machine) -> None:
    output = machine.run("train.py", STEPS=7, EVERY=5, STAGE=1)
    assert "end" in output
    assert machine.steps()[-1] == 7, "before the holder's end"


@needs_root
@pytest.mark.parametrize("wrap", ["", "1"])
def test_a_full_disk_is_no_success_of_the_job(machine: Machine, wrap: str) -> None:
    """DistributedDataParallel writes to the weights that were restored, the same ones."""
    with ext4(machine.checkpoints, machine.tmp / "disk", 16):
        run = ("run", "--job", "j", SCRIPTS / "last_save.py")
        for _ in range(2):  # also where it is found in memory, and the disk is still full
            output = machine.headway(*run, HOW="close", FILL=1, WRAP=wrap, code=3)
            assert re.search(rf"{NOT_THERE}.*No space left on device", output), output
        assert AGAIN.format("headway run --job j") in output
        (machine.checkpoints / "filler").unlink()
        output = machine.headway(*run, HOW="close", WRAP=wrap)
        assert "goes on after 4 replica" in output, output
        assert machine.steps()[-1] == 4


def test_what_was_trained_on_without_a_word_is_no_success(machine: Machine) -> None:
    machine.run("last_save.py", HOW="close", BREAK=1, code=3)
    mend(machine)
    output = machine.run("last_save.py", HOW="close", QUIET=1, code=3)
    (said,) = re.findall(r"^CheckpointError: (.*)$", output, re.MULTILINE)
    assert "step 4 was restored from memory and is not on disk, the last that is, is step 3" in said
    assert "call save(step)" in said
