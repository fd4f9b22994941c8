"""Shared memory that is full, too small, cut short or removed under a job that trains."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fault_training import Training, end_of, fill, meets, mounted, needs_root
from replica_machine import HEADWAY, SCRIPTS, Machine, wait_until

WIDTH = 256  # a state of about 1 MiB
GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    machine = Machine(tmp_path_factory.mktemp("undisturbed"))
    end = end_of(machine.run("train.py", WIDTH=WIDTH))
    machine.close()
    return end


def slots(machine: Machine) -> list[Path]:
    return sorted(machine.memory.rglob("*.slot-*"))


def resize(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def flip_a_bit_of_each(paths: list[Path]) -> None:
    for path in paths:
        with open(path, "r+b") as file:
            file.seek(path.stat().st_size // 2)
            byte = file.read(1)[0]
            file.seek(path.stat().st_size // 2)
            file.write(bytes([byte ^ 1]))


def trains_without_and_then_with(machine: Machine, mends: object, undisturbed: str) -> str:
    training = Training(machine, WIDTH=WIDTH, PAUSE=8, STAGING="full")
    training.pauses_after(8)
    assert machine.steps() == []
    assert not slots(machine), "what cannot be used is given back"
    mends()  # type: ignore[operator]
    training.goes_on_after(8)
    output = training.ends()
    assert end_of(output) == undisturbed
    # What was refused is asked for again with every save, and comes when there is room.
    assert machine.steps() and machine.steps()[-1] == 12, training.complaints()
    said = training.complaints()
    assert said and len(said) <= 4, "not at every save"
    return said[0]


@needs_root
def test_no_room_for_the_replica(machine: Machine, undisturbed: str) -> None:
    with mounted(machine.memory, "-t", "tmpfs", "-o", "size=1m", "none"):
        said = trains_without_and_then_with(
            machine, lambda: resize(machine.memory, "64m"), undisturbed
        )
        machine.end_holders()
    assert re.search(
        r"no replica: the replica of rank 0 needs 2 x \d\.\d MiB of memory and 1\.0 MiB may be "
        rf"taken in {machine.memory}/.*: save with staging=\"stream\", or give the job more memory",
        said,
    ), said


@needs_root
def test_without_room_it_streams(machine: Machine, undisturbed: str) -> None:
    with mounted(machine.memory, "-t", "tmpfs", "-o", "size=1m", "none"):
        training = Training(machine, WIDTH=WIDTH, PAUSE=8)
        training.pauses_after(8)
        assert machine.steps()[-1] == 8 and not slots(machine)
        training.goes_on_after(8)
        assert end_of(training.ends()) == undisturbed
        machine.end_holders()
    assert training.complaints() == []


@needs_root
def test_the_room_ends_while_it_is_taken(machine: Machine, undisturbed: str) -> None:
    """Room for two images, but not for their tables: found by the allocation alone."""
    probe = Training(machine, WIDTH=WIDTH, PAUSE=2)
    probe.pauses_after(2)
    image = slots(machine)[0].stat().st_size - 8192
    probe.goes_on_after(2)
    probe.ends()
    machine.end_holders()
    for path in machine.checkpoints.glob("step-*/*"):
        path.unlink()
    for path in machine.checkpoints.glob("step-*"):
        path.rmdir()
    (machine.checkpoints / "LATEST").unlink()
    with mounted(machine.memory, "-t", "tmpfs", "-o", f"size={2 * image + 8192}", "none"):
        said = trains_without_and_then_with(
            machine, lambda: resize(machine.memory, "64m"), undisturbed
        )
        machine.end_holders()
    assert re.search(r"no replica: .*slot-\d+: (allocate|write): No space left on device", said)


@contextmanager
def memory_group(name: str, most: int) -> Iterator[Path]:
    old = GROUPS / "memory"
    group = (old if old.is_dir() else GROUPS) / name
    try:
        group.mkdir()
        limit = "memory.limit_in_bytes" if old.is_dir() else "memory.max"
        (group / limit).write_text(str(most))
    except OSError as error:
        pytest.skip(f"no group with a limit of memory can be made here: {error}")
    try:
        yield group
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "its processes are gone")
        group.rmdir()


@needs_root
def test_a_limit_of_memory(machine: Machine) -> None:
    """The kernel would kill somebody, and it might be the trainer: nothing is taken then. The last
    step is no less safe for it: close() needs no copy."""
    with memory_group(f"hw-{machine.mark[:8]}", 500 << 20) as group:
        join = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        training = Training(
            machine, ("sh", "-c", join, "sh"), WIDTH=3000, STEPS=4, PAUSE=0, EVERY=2, STAGING="full"
        )
        try:
            output = training.ends()
        finally:
            training.process.kill()
            machine.end_holders()
    assert "rank 0 end" in output
    said = training.complaints()
    assert any("the replica of rank 0 needs 2 x " in text for text in said), output
    assert machine.steps() == [4]


@pytest.mark.parametrize("how", ["cut", "removed"])
def test_slots_are_taken_away(machine: Machine, undisturbed: str, how: str) -> None:
    """To touch what was cut off would kill the trainer, and the holder."""
    holders: list[int] = []

    def breaks() -> None:
        holders.extend(machine.holders())
        assert slots(machine)
        for path in slots(machine):
            if how == "cut":
                os.truncate(path, 0)
            else:
                path.unlink()

    training = meets(machine, breaks, lambda: None, WIDTH=WIDTH)
    assert end_of(training.output()) == undisturbed
    assert machine.steps()[-1] == 12
    assert holders and not (set(machine.holders()) - set(holders)), "the holder lives"


@pytest.mark.parametrize("number", ["SIGBUS", "SIGABRT"])
def test_after_a_crash_the_replica_is_verified(
    machine: Machine, undisturbed: str, number: str
) -> None:
    """Whoever dies so may have written anywhere: one bit is enough to go back to the disk."""
    variables = {"WIDTH": WIDTH, "SURE": 1, "WAIT": 1}
    killed = -getattr(signal, number)
    machine.run("train.py", code=killed, KILL=7, SIGNAL=number, **variables)
    flip_a_bit_of_each(slots(machine))
    output = machine.run("train.py", **variables)
    assert "(replica) is passed over" in output
    assert "goes on after 7 from disk" in output
    assert end_of(output) == undisturbed


@needs_root
def test_what_an_earlier_run_left_is_verified(machine: Machine, undisturbed: str) -> None:
    """It may have ended in a way that writes anywhere, and its last saves were never on disk: only
    their checksums can tell. Also where the first attempt of the run that follows dies too early to
    have looked at it."""
    job = ["--job", "j", SCRIPTS / "train.py"]
    state = {"WIDTH": WIDTH, "SURE": 1, "WAIT": 1}
    with mounted(machine.checkpoints, "-t", "tmpfs", "-o", "size=64m", "none"):
        first = subprocess.Popen(
            [str(HEADWAY), "run", *map(str, job)],
            env={
                **machine.env,
                **{key: str(value) for key, value in state.items()},
                "PAUSE": "4",
                "KILL": "7",
                "SIGNAL": "SIGSEGV",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: machine.steps()[-1:] == [4], "step 4 is on disk")
        filler = fill(machine.checkpoints)
        Path(f"{machine.checkpoints}.go").touch()
        assert first.wait(timeout=120) != 0
        assert machine.steps()[-1] == 4
        assert slots(machine), "what is not on disk stays in memory"
        flip_a_bit_of_each(slots(machine))
        filler.unlink()
        script = machine.tmp / "dies_first.py"
        script.write_text(
            "import os, runpy, signal\n"
            "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0':\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            f"runpy.run_path({str(SCRIPTS / 'train.py')!r}, run_name='__main__')\n"
        )
        output = machine.headway("run", "--max-restarts", 2, "--job", "j", script, **state)
        machine.end_holders()
    assert "(replica) is passed over" in output, output
    assert "goes on after 4 from disk" in output
    assert end_of(output) == undisturbed


def test_a_holder_that_cannot_be_started_is_told(machine: Machine) -> None:
    """Not an hour of waiting, and no training that saves nothing without a word."""
    machine.memory.write_text("a file where the folder should be")
    output = machine.run("train.py", code=1)
    assert re.search(
        rf"CheckpointError: checkpointer: {machine.memory}/.*: the holder of replicas does not "
        "answer: .*Not a directory",
        output,
    ), output
    machine.memory.unlink()


def test_a_folder_that_was_removed_to_begin_anew(machine: Machine, undisturbed: str) -> None:
    state = {"WIDTH": WIDTH, "SURE": 1, "WAIT": 1}
    machine.run("train.py", code=-signal.SIGKILL, KILL=7, **state)
    shutil.rmtree(machine.checkpoints)
    output = machine.run("train.py", **state)
    assert "goes on after 7 from replica" in output, output
    assert f"{machine.checkpoints} holds no checkpoint, though some were saved into it" in output
    assert end_of(output) == undisturbed
    shutil.rmtree(machine.checkpoints)
    Path(f"{machine.checkpoints}.killed").unlink()
    machine.run("train.py", code=-signal.SIGKILL, KILL=7, **state)
    shutil.rmtree(machine.checkpoints)
    output = machine.run("train.py", HEADWAY_CKPT_WITHOUT_MEMORY=1, **state)
    assert "goes on after 0 from None" in output and "Warning" not in output, output
    assert end_of(output) == undisturbed


@needs_root
def test_a_disk_that_was_always_full_has_lost_nothing(machine: Machine) -> None:
    state = {"WIDTH": WIDTH, "SURE": 1, "WAIT": 1}
    with mounted(machine.checkpoints, "-t", "tmpfs", "-o", "size=20k", "none"):
        machine.run("train.py", code=-signal.SIGKILL, KILL=7, **state)
        assert not machine.steps()
        output = machine.run("train.py", code=1, **state)
        room = ["mount", "-o", "remount,size=64m", str(machine.checkpoints)]
        subprocess.run(room, check=True)
        assert "goes on after 12 from replica" in machine.run("train.py", **state)
        machine.end_holders()
        assert machine.steps() == [12]
    assert "goes on after 7 from replica" in output, output
    assert "No space left on device" in output and "though some were saved" not in output, output
    assert "rank 0 step 12\n" in output
