"""However a training ends, what it saved last is known: the last step is saved where that can be,
and where it is not somebody is told."""

from __future__ import annotations

from typing import Any

import pytest
from replica_machine import SCRIPTS, Machine

LOST = "step {} is not saved, the last that is, is step 4: {}"
FORGOTTEN = LOST.format(6, "the script ended without close() of its checkpointer; call it after")


def weight_of(machine: Machine, step: int) -> Any:
    safetensors = pytest.importorskip("safetensors")
    (path,) = machine.checkpoints.glob(f"step-{step:08}-*/rank-00000.safetensors")
    with safetensors.safe_open(path, "pt") as file:
        return file.get_tensor("model.weight").unique().tolist()


@pytest.mark.parametrize("how", ["close", "with", "exit"])
def test_the_last_step_is_saved(machine: Machine, how: str) -> None:
    output = machine.run("ends.py", HOW=how)
    assert "not saved" not in output
    machine.end_holders()
    assert machine.steps() == [1, 4, 6]
    assert weight_of(machine, 6) == [6.0]


def test_whoever_forgets_to_close_is_told(machine: Machine) -> None:
    output = machine.run("ends.py", HOW="forget")
    assert output.count(f"headway: {machine.checkpoints}: {FORGOTTEN}") == 1, output
    machine.end_holders()
    assert machine.steps() == [1, 4]


def test_one_rank_tells_for_all_and_all_save(machine: Machine) -> None:
    output = machine.headway("run", "--nproc", 2, SCRIPTS / "ends.py", HOW="forget")
    assert output.count(FORGOTTEN) == 1, output
    assert machine.steps() == [1, 4]
    machine.headway("run", "--nproc", 2, SCRIPTS / "ends.py", HOW="close")
    assert machine.steps()[-1] == 6


def test_nobody_is_left_to_ask(machine: Machine) -> None:
    output = machine.headway("run", "--nproc", 2, SCRIPTS / "ends.py", HOW="destroyed")
    assert LOST.format(6, "close() comes before destroy_process_group()") in output


def test_after_an_exception_nothing_more_is_saved(machine: Machine) -> None:
    """The state may be of the middle of a step: no checkpoint may say that it is of a whole one."""
    output = machine.run("ends.py", HOW="raise", code=1)
    assert "ValueError: of the script" in output and "not saved" not in output
    machine.end_holders()
    assert machine.steps() == [1, 4]


def test_close_in_a_finally_does_not_save_either(machine: Machine) -> None:
    output = machine.run("ends.py", HOW="finally", code=1)
    assert LOST.format(5, "an exception came before, maybe in the middle of the next") in output
    machine.end_holders()
    assert machine.steps() == [1, 4]
