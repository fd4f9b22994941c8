"""What a script does wrong is said in one line, before anything is lost by it."""

from __future__ import annotations

from replica_machine import SCRIPTS, Machine


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
    assert machine.steps() == [1, 2, 3]


def test_steps_are_whole_numbers(machine: Machine) -> None:
    said = machine.run("mistakes.py").splitlines()
    want = "want a whole number from 0 on"
    assert f"no number: checkpointer: save(): step is '3': {want}" in said
    assert f"below: checkpointer: save(): step is -3: {want}" in said
    assert f"fraction: checkpointer: maybe_save(): step is 2.5: {want}" in said
    assert f"truth: checkpointer: maybe_save(): step is True: {want}" in said
    assert f"data: checkpointer: save(): data is 'x': {want}" in said
    assert "numpy 3" in said, "other libraries' numbers are numbers"


def test_after_the_end(machine: Machine) -> None:
    said = machine.run("mistakes.py").splitlines()
    for name, call in (("", "save"), (" too", "maybe_save"), (" for good", "restore")):
        assert (
            f"closed{name}: checkpointer: {call}() after close(): make another checkpointer to go "
            "on" in said
        )


def test_what_is_given(machine: Machine) -> None:
    said = machine.run("mistakes.py").splitlines()
    assert (
        "values: checkpointer: values=list: want a dictionary, which restore() fills in place"
        in said
    )
    assert (
        "dense: checkpointer: no table to save by rows: the embedding '0' has dense gradients: "
        "make it with sparse=True, or name its weight in tables=[…]" in said
    )


def test_ranks_are_told_the_same(machine: Machine) -> None:
    """What one rank sees of a shared folder another may see later: the first one's word counts."""
    machine.run("mistakes.py")
    output = machine.headway("run", "--nproc", 2, SCRIPTS / "lagging.py")
    for rank in (0, 1):
        assert f"rank {rank} is told: checkpointer: {machine.checkpoints}" in output, output
    assert output.count("holds checkpoints of an earlier run") == 2
