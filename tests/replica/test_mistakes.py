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
    assert (
        'streamed: checkpointer: stage_steps=1 with staging="stream" does nothing: there is no '
        "memory to stage into; leave out one of the two" in said
    )
    assert "parts model train_loader rng" in said, "what can be saved may have any name"


def test_what_an_earlier_run_has_left_is_not_pushed_out(machine: Machine) -> None:
    said = machine.run("mistakes.py").splitlines()
    unread = (
        f"checkpointer: {machine.checkpoints} holds checkpoints of an earlier run: call restore() "
        "before the first save to go on from them, or save into another folder"
    )
    assert f"save: {unread}" in said
    assert f"maybe: {unread}" in said
    assert "restored 1" in said
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


WRONG = {
    "string": "model='model.pt': want an nn.Module",
    "state": "model=a OrderedDict: want an nn.Module itself, and not its state_dict()",
    "swapped": "model=a SGD: want an nn.Module; an optimizer is given as optimizer=",
    "swapped too": "optimizer=a Linear: that is a module; it is given as model=",
    "no optimizer": "optimizer=a dict: want an optimizer itself, and not its state_dict()",
    "kept": "keep_last=-1: want a whole number from 0 on",
    "kept half": "keep_last=1.5: want a whole number from 0 on",
    "hours": "keep_every_hours=-1: want a number from 0 on",
    "buffer": "stream_bytes=1048576: want a whole number of bytes, from 67108864 (64 MiB) on",
    "seconds": "min_seconds=20 is more than max_seconds=10",
    "staged": "stage_steps=2 without every_steps does nothing: how often to save is tuned then, "
    "into memory as well",
    "staged seldom": "stage_steps=3 is more than every_steps=2: what gets to the disk goes through "
    "memory",
    "tables": "tables= has 'emb': want parameters, as in [model.embedding.weight]",
    "table": "tables= is one tensor: want a list, [parameter]",
    "folder None": "folder=None: want the path of the folder to save into",
    "folder 5": "folder=5: want the path of the folder to save into",
    "folder ''": "folder='': want the path of the folder to save into",
    "back": "save(): step 1 comes after step 3: count steps on through all epochs, and from what "
    "restore() returns",
    "maybe back": "maybe_save(): step 2 comes after step 3: count steps on through all epochs, and "
    "from what restore() returns",
    "row": "touched(): weight has rows 0 to 9, and no row 5000",
    "row below": "touched(): weight has rows 0 to 9, and no row -1",
    "row text": "touched(): weight: list: want whole numbers of rows",
    "row half": "touched(): weight: row numbers of type torch.float32: want whole numbers of rows",
}


def test_what_cannot_be_is_refused_by_name(machine: Machine) -> None:
    output = machine.run("mistakes.py")
    said = output.splitlines()
    assert [
        name for name, text in WRONG.items() if f"{name}: checkpointer: {text}" not in said
    ] == []
    assert "Exception ignored" not in output and "Traceback" not in output, "a refused one is gone"


def test_one_checkpointer_a_folder(machine: Machine) -> None:
    said = machine.run("mistakes.py").splitlines()
    assert (
        f"second: checkpointer: {machine.checkpoints} has a checkpointer in this process already: "
        "close() that one first, or save into another folder" in said
    )


def test_a_checkpoint_is_no_folder_of_checkpoints(machine: Machine) -> None:
    output = machine.run("mistakes.py")
    assert "mistakes.py is a file: want the path of the folder to save into\n" in output
    assert "is a checkpoint; name the folder it is in: " + str(machine.checkpoints) in output
