"""A training that meets a fault after step 4, and is rid of it after step 8 of 12.

Every step is saved and waited for. However it goes: the training ends as if nothing had been, what
was saved before stays good, and what is saved afterwards is there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine, wait_until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system: needs root")


def end_of(output: str) -> str:
    found = re.findall(r"^rank 0 end (.*)$", output, re.MULTILINE)
    assert len(found) == 1, output
    return found[0]


class Training:
    def __init__(self, machine: Machine, prefix: tuple[str, ...] = (), **variables: object) -> None:
        self.machine = machine
        self.log = machine.tmp / "output"
        given = {"EVERY": 1, "WAIT": 1, "PAUSE": "4,8", **variables}
        with open(self.log, "w") as file:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, str(SCRIPTS / "train.py")],
                env={**machine.env, **{key: str(value) for key, value in given.items()}},
                stdout=file,
                stderr=file,
            )

    def output(self) -> str:
        return self.log.read_text()

    def pauses_after(self, step: int) -> None:
        def paused() -> bool:
            assert self.process.poll() is None, self.output()
            return f"rank 0 pauses after {step}\n" in self.output()

        wait_until(paused, f"it pauses after {step}")

    def goes_on_after(self, step: int) -> None:
        Path(f"{self.machine.checkpoints}.go-{step}").touch()

    def ends(self) -> str:
        assert self.process.wait(timeout=300) == 0, self.output()
        return self.output()

    def complaints(self) -> list[str]:
        return re.findall(r"RuntimeWarning: (headway: .*)", self.output())


def is_written(machine: Machine) -> bool:
    return bool(machine.steps()) and not list(machine.checkpoints.glob(".draft-*"))


def meets(
    machine: Machine,
    breaks: Callable[[], None],
    mends: Callable[[], None],
    prefix: tuple[str, ...] = (),
    **variables: object,
) -> Training:
    """The whole story; `breaks` and `mends` happen while nothing else does."""
    training = Training(machine, prefix, SURE_FIRST=1, **variables)
    training.pauses_after(4)
    wait_until(lambda: is_written(machine), "what it has saved is on disk")
    before = sorted(machine.checkpoints.glob("step-*"))
    machine.headway("ckpt", "verify", before[-1])
    breaks()
    training.goes_on_after(4)
    training.pauses_after(8)
    mends()
    if machine.checkpoints.is_dir() and before[-1].exists():
        machine.headway("ckpt", "verify", before[-1])
    training.goes_on_after(8)
    training.ends()
    assert machine.steps()[-1] == 12, machine.steps()
    for path in machine.checkpoints.glob("step-*"):
        machine.headway("ckpt", "verify", path)
    assert not list(machine.checkpoints.glob(".draft-*")), "waste was left behind"
    return training


def told_once_each(training: Training, folder: Path, cause: str) -> None:
    """Saves 5 to 8 fail: the first, the second and the fourth are worth a word."""
    said = training.complaints()
    assert [int(re.findall(r"step (\d+)", text)[0]) for text in said] == [5, 6, 8], said
    for text in said:
        assert str(folder) in text and re.search(cause, text), text
        assert "Training goes on, and the next save tries again" in text


@contextmanager
def mounted(folder: Path, *arguments: object) -> Iterator[None]:
    """A file system on this folder; whoever still uses it loses it."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", *map(str, arguments), str(folder)], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def ext4(folder: Path, image: Path, megabytes: int, *options: str) -> Iterator[None]:
    """A small disk with a real file system, in a file."""
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("no mkfs.ext4 here")
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    eager = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    make = ["mkfs.ext4", "-q", "-F", "-E", eager, *options, str(image)]
    subprocess.run(make, check=True, capture_output=True)
    with mounted(folder, "-o", "loop,errors=continue", image):
        yield


def fill(folder: Path) -> Path:
    """Takes all room that there is."""
    path = folder / "filler"
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 16, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
    return path
