"""Without `every_steps` the checkpointer decides itself when to save, and all ranks as one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine

TRAIN = SCRIPTS / "train.py"


def cadence_of(checkpoint: Path) -> list[float]:
    """What the job has learnt, as it is saved."""
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(checkpoint / "rank-00000.safetensors", "pt") as file:
        return json.loads(bytes(file.get_tensor("headway.rank-00000").numpy()))["cadence"]


def test_the_first_save_comes_early(machine: Machine) -> None:
    """The interval is tuned from what saves cost: until one was seen, all would be lost."""
    output = machine.headway(
        "run", "--nproc", 2, "--max-restarts", 1, TRAIN, EVERY=-1, STEPS=40, SLOW=0.05, KILL=30
    )
    again = re.findall(r"goes on after (\d+) from replica", output)
    assert len(again) == 2 and len(set(again)) == 1, output
    assert 2 <= int(again[0]) <= 30
    assert machine.steps()[0] <= 30, "and it went to the disk"
    assert machine.steps()[-1] == 40, "the last step is saved by close()"
    assert cadence_of(min(machine.checkpoints.glob("step-*")))[4] < 0, "nothing was known by then"


def test_it_saves_when_it_pays(machine: Machine) -> None:
    output = machine.headway(
        "run", "--nproc", 2, "--max-restarts", 1, TRAIN, EVERY=0, STEPS=40, SLOW=0.05, KILL=30
    )
    again = re.findall(r"goes on after (\d+) from replica", output)
    assert len(again) == 2 and len(set(again)) == 1, output
    assert 0 < int(again[0]) <= 30
    assert len(machine.steps()) >= 2, "they were written, of both ranks"
    process, node, zone, seconds, blocking, *_ = cadence_of(max(machine.checkpoints.glob("step-*")))
    assert (process, node, zone) == (1, 0, 0), "the failure was of a process"
    assert seconds > 0.5, "both attempts count"
    assert blocking > 0
