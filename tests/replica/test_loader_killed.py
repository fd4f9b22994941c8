"""A trainer is killed in the middle of a pass over its data, and trains on as if it had not been:
every batch once, in the order of an undisturbed run, and the same weights to the last bit."""

from __future__ import annotations

import functools
import re
import signal
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine

SCRIPT = SCRIPTS / "loader_train.py"
PACKAGES = {"stateful": "torchdata", "accelerate": "accelerate"}


def lines(output: str) -> list[str]:
    """What ranks said, without who said it when."""
    return sorted(re.findall(r"rank \d (?:step|end) .*", output))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory):
    @functools.cache
    def run(kind: str) -> list[str]:
        machine = Machine(tmp_path_factory.mktemp(kind))
        said = lines(machine.run(SCRIPT.name, LOADER=kind))
        machine.close()
        return said

    return run


# 7 batches a pass: in the middle of one, with its last batch, with the first of the last pass.
CASES = [
    *[("plain", kill) for kill in (3, 7, 15)],
    *[(kind, 10) for kind in ("workers", "iterable", "accelerate", "stateful")],
]


@pytest.mark.parametrize("kind,kill", CASES)
def test_a_killed_trainer_sees_every_batch_once(
    machine: Machine, undisturbed, kind: str, kill: int
) -> None:
    if kind in PACKAGES:
        pytest.importorskip(PACKAGES[kind])
    before = machine.run(SCRIPT.name, LOADER=kind, KILL=kill, code=-signal.SIGKILL)
    after = machine.run(SCRIPT.name, LOADER=kind)
    assert f"goes on after {kill}\n" in after
    said, wanted = sorted(lines(before) + lines(after)), undisturbed(kind)
    if kind == "stateful":
        # Which draws random numbers when it goes on: the batches are the same, dropout is not.
        said, wanted = said[1:], wanted[1:]
    assert said == wanted


def test_ranks_with_a_distributed_sampler(machine: Machine, tmp_path: Path) -> None:
    arguments = ["run", "--nproc", 2, "--max-restarts", 1, SCRIPT]
    output = machine.headway(*arguments, LOADER="plain", KILL=6)
    assert output.count("goes on after 6") == 2
    other = Machine(tmp_path / "undisturbed")
    other.tmp.mkdir()
    whole = lines(other.headway(*arguments, LOADER="plain"))
    other.close()
    assert lines(output) == whole
    assert len(whole) == 2 * (3 * 4 + 1)
