"""What a script does wrong is said in one line, before anything is lost by it."""

from __future__ import annotations

from replica_machine import Machine


def test_each_is_answered(machine: Machine) -> None:
    said = machine.run("mistakes.py").splitlines()
    assert "typo: checkpointer: no option 'every_step'; did you mean 'every_steps'?" in said
    assert (
        "nothing: checkpointer: nothing is named that could be saved: give it model= and optimizer="
        in said
    )
    assert "text: checkpointer: every_steps='10': want a whole number above 0" in said
    assert "negative: checkpointer: stage_steps=-1: want a whole number above 0" in said
    assert "parts model train_loader rng" in said, "what can be saved may have any name"


def test_what_an_earlier_run_has_left_is_not_pushed_out(machine: Machine) -> None:
    said = machine.run("mistakes.py").splitlines()
    unread = (
        f"checkpointer: {machine.checkpoints} holds checkpoints of an earlier run: call restore() "
        "before the first save to go on from them, or save into another folder"
    )
    assert f"save: {unread}" in said
    assert f"maybe: {unread}" in said
    assert "restored 1 True" in said
    assert machine.steps() == [1, 2]
