"""Disks that fail for real, under a job that trains: full, read-only, broken, gone, forbidden."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_training import Training, end_of, ext4, fill, meets, mounted, needs_root, told_once_each
from replica_machine import PACKAGE, Machine

NOBODY = 65534


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    machine = Machine(tmp_path_factory.mktemp("undisturbed"))
    end = end_of(machine.run("train.py"))
    machine.close()
    return end


@needs_root
def test_a_full_disk(machine: Machine, undisturbed: str) -> None:
    with ext4(machine.checkpoints, machine.tmp / "disk", 16):
        filler = machine.checkpoints / "filler"
        training = meets(machine, lambda: void(fill(machine.checkpoints)), filler.unlink)
        machine.end_holders()
    assert end_of(training.output()) == undisturbed
    told_once_each(training, machine.checkpoints, "No space left on device.*make room there")


@needs_root
def test_a_full_disk_is_thinned_out_first(machine: Machine) -> None:
    """A job of before kept more than this one wants: that is no reason to fail."""
    with ext4(machine.checkpoints, machine.tmp / "disk", 16):
        keep = {"STEPS": 8, "KEEP": 0, "PAUSE": 0, "SURE": 1}
        Training(machine, **keep).ends()
        machine.end_holders()
        assert machine.steps() == list(range(1, 9))
        fill(machine.checkpoints)
        training = Training(machine, STEPS=12, KEEP=3, PAUSE=0, SURE=1)
        training.ends()
        machine.end_holders()
        assert machine.steps() == [10, 11, 12]
        assert not training.complaints()


@needs_root
def test_a_disk_that_becomes_read_only(machine: Machine, undisturbed: str) -> None:
    folder = str(machine.checkpoints)

    def breaks() -> None:
        subprocess.run(["mount", "--bind", folder, folder], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)

    training = meets(machine, breaks, lambda: void(subprocess.run(["umount", folder], check=True)))
    assert end_of(training.output()) == undisturbed
    cause = f"Read-only file system.*; {folder} is mounted read-only: mount it for writing, or name"
    told_once_each(training, machine.checkpoints, cause)


@needs_root
def test_a_device_that_cannot_write(machine: Machine, undisturbed: str) -> None:
    """A disk in a sparse file in memory that is full: whatever has to get a new block on the
    device fails there, below the file system. (The kernel's own failing devices need
    device-mapper, which not every one has. Without a journal: with one it would give up for good,
    and somebody would have to mount it again.)"""
    below = machine.tmp / "below"
    with mounted(below, "-t", "tmpfs", "-o", "size=32m", "none"):
        with ext4(machine.checkpoints, below / "disk", 64, "-O", "^has_journal"):
            filler = below / "filler"
            # None is thinned out: its blocks would be there for the next one.
            training = meets(machine, lambda: void(fill(below)), filler.unlink, KEEP=0)
            machine.end_holders()
    assert end_of(training.output()) == undisturbed
    told_once_each(training, machine.checkpoints, "Input/output error|No space left on device")


def test_files_that_may_not_grow(machine: Machine, undisturbed: str) -> None:
    """A limit of the holder: SIGXFSZ would end it."""

    def limit(most: int) -> None:
        (holder,) = machine.holders()
        resource.prlimit(holder, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    training = meets(machine, lambda: limit(8192), lambda: limit(resource.RLIM_INFINITY))
    assert end_of(training.output()) == undisturbed
    told_once_each(training, machine.checkpoints, "File too large")


def test_a_folder_that_is_removed(machine: Machine, undisturbed: str) -> None:
    """Nothing fails: it is made anew, and is the job's as the old one was."""
    said: list[str] = []

    def mends() -> None:
        done = machine.headway("ckpt", "prune", machine.checkpoints, "--last", 1, code=2)
        said.append(done)

    training = meets(machine, lambda: shutil.rmtree(machine.checkpoints), mends)
    assert end_of(training.output()) == undisturbed
    assert not training.complaints()
    assert "in use by the job" in said[0]


def test_a_folder_that_becomes_a_file(machine: Machine, undisturbed: str) -> None:
    aside = machine.tmp / "aside"

    def breaks() -> None:
        machine.checkpoints.rename(aside)
        machine.checkpoints.write_text("not a folder")

    def mends() -> None:
        machine.headway("ckpt", "verify", aside)
        machine.checkpoints.unlink()
        aside.rename(machine.checkpoints)

    training = meets(machine, breaks, mends)
    assert end_of(training.output()) == undisturbed
    cause = "(Not a directory|File exists).* is a file: remove it, or name another folder"
    told_once_each(training, machine.checkpoints, cause)


@pytest.fixture
def open_machine() -> Iterator[Machine]:
    """Where somebody who is not root can save."""
    with tempfile.TemporaryDirectory(prefix="headway-") as folder:
        os.chmod(folder, 0o777)
        machine = Machine(Path(folder))
        yield machine
        machine.close()


@needs_root
def test_a_folder_that_is_forbidden(open_machine: Machine, undisturbed: str) -> None:
    machine = open_machine
    other = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    probe = [*other, sys.executable, "-c", "import headway, torch"]
    env = {**machine.env, "PYTHONPATH": str(PACKAGE), "HOME": "/nonexistent"}
    if subprocess.run(probe, env=env, capture_output=True).returncode != 0:
        pytest.skip("another user cannot read what was built")
    machine.env["HOME"] = "/nonexistent"
    training = meets(
        machine,
        lambda: os.chmod(machine.checkpoints, 0o555),
        lambda: os.chmod(machine.checkpoints, 0o755),
        prefix=other,
    )
    assert end_of(training.output()) == undisturbed
    cause = r"Permission denied.* belongs to .* \(mode 555\), and this process is .*chown, chmod"
    told_once_each(training, machine.checkpoints, cause)


def void(_: object) -> None:
    """For lambdas that have to return nothing."""
