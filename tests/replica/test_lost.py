"""What somebody has lost or removed of a folder of checkpoints: nothing begins anew over it without
a word, nothing that is left of it is thrown away, and what was removed does not come back."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine, wait_until

STEPS = 3


@pytest.fixture
def saved(machine: Machine) -> list[Path]:
    """Three checkpoints, the oldest first, and nobody who has them in memory."""
    machine.run("train.py", STEPS=STEPS, SURE=1, WAIT=1, KEEP=0)
    machine.end_holders()
    return sorted(machine.checkpoints.glob("step-*"))


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refusal(machine: Machine) -> str:
    """What a run says that must not begin anew."""
    output = machine.run("train.py", STEPS=STEPS + 2, SURE=1, WAIT=1, KEEP=1, code=1)
    machine.end_holders()
    return next(line for line in output.splitlines() if line.startswith("headway.checkpoint."))


def go_on(machine: Machine) -> str:
    output = machine.run("train.py", STEPS=STEPS + 3, SURE=1, WAIT=1, KEEP=1)
    machine.end_holders()
    return output


def test_all_manifests_are_lost(machine: Machine, saved: list[Path]) -> None:
    for path in saved:
        (path / "MANIFEST.json").unlink()
    (machine.checkpoints / "LATEST").unlink()
    left = [files_of(path) for path in saved]
    said = refusal(machine)
    assert "CheckpointDamagedError" in said and f"none of {STEPS} saved states" in said
    for path in saved:
        assert f"{path}: holds files and no MANIFEST.json" in said
    assert "bring that back, or remove the folder" in said
    assert [files_of(path) for path in saved] == left
    for path in saved:
        shutil.rmtree(path)
    assert "goes on after 0 from None" in go_on(machine)


def test_the_newest_manifest_is_lost(machine: Machine, saved: list[Path]) -> None:
    (saved[-1] / "MANIFEST.json").unlink()
    left = files_of(saved[-1])
    output = go_on(machine)
    assert f"a checkpoint is passed over: {saved[-1]}: holds files and no MANIFEST" in output
    assert f"goes on after {STEPS - 1} from disk" in output
    assert files_of(saved[-1]) == left, "many saves and their retention later"
    assert "passed over" not in go_on(machine), "there are newer ones by now"
    machine.headway("ckpt", "prune", machine.checkpoints, "--last", 1)
    assert not saved[-1].exists()


def test_latest_names_what_is_gone(machine: Machine, saved: list[Path]) -> None:
    shutil.rmtree(saved[-1])
    output = go_on(machine)
    gone = f"{machine.checkpoints}/LATEST: names {saved[-1].name}, which is gone"
    assert f"a checkpoint is passed over: {gone}" in output
    assert f"goes on after {STEPS - 1} from disk" in output
    latest = (machine.checkpoints / "LATEST").read_text().strip()
    for path in machine.checkpoints.glob("step-*"):
        shutil.rmtree(path)
    assert f"LATEST: names {latest}, which is gone" in refusal(machine)
    (machine.checkpoints / "LATEST").unlink()
    assert "goes on after 0 from None" in go_on(machine)


def test_a_file_in_the_place_of_a_checkpoint(machine: Machine, saved: list[Path]) -> None:
    shutil.rmtree(saved[-1])
    saved[-1].write_text("x")
    output = go_on(machine)
    assert f"{saved[-1]}: a file where a checkpoint's folder should be" in output
    assert f"goes on after {STEPS - 1} from disk" in output
    for path in machine.checkpoints.glob("step-*"):
        if path.is_dir():
            shutil.rmtree(path)
    (machine.checkpoints / "LATEST").unlink()
    assert f"{saved[-1]}: a file where" in refusal(machine)


@pytest.mark.parametrize("made_again", [False, True])
def test_a_removed_folder_does_not_come_back(machine: Machine, made_again: bool) -> None:
    in_memory = {"EVERY": 100, "STAGE": 1, "SURE_FIRST": 1, "SLOW": 0.05}
    machine.run("train.py", code=-signal.SIGKILL, STEPS=9, KILL=7, **in_memory)
    shutil.rmtree(machine.checkpoints)
    if made_again:
        machine.checkpoints.mkdir()
    log = machine.memory.glob("*/holder.log")
    machine.end_holders()  # it writes what it has, where it may
    assert machine.checkpoints.exists() == made_again and machine.steps() == []
    said = "".join(path.read_text() for path in log)
    assert f"{machine.checkpoints}: somebody has removed it, and nobody trains" in said
    output = machine.run("train.py", STEPS=9, HEADWAY_CKPT_WITHOUT_MEMORY=1, **in_memory)
    assert "goes on after 0 from None" in output, output


def test_a_holder_keeps_nothing_open_of_its_trainers(machine: Machine) -> None:
    """A lock of flock(1) or the end of a pipe, which a shell hands to all that it starts."""
    lock = machine.tmp / "lock"
    with lock.open("w") as held:
        reading, writing = os.pipe()
        environment = {**machine.env, "STEPS": "5", "KILL": "3", "SURE": "1"}
        trainer = subprocess.Popen(
            [sys.executable, str(SCRIPTS / "train.py")],
            env=environment,
            pass_fds=[held.fileno(), writing],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        pipe = os.readlink(f"/proc/self/fd/{writing}")
        os.close(writing)
        assert trainer.wait() == -signal.SIGKILL
        wait_until(lambda: len(machine.holders()) == 1, "the holder outlives the trainer")
        (holder,) = machine.holders()
        opened = [os.readlink(path) for path in Path(f"/proc/{holder}/fd").iterdir()]
        assert pipe not in opened and str(lock) not in opened, opened
        assert os.read(reading, 1) == b"", "nobody has the other end"
        os.close(reading)
