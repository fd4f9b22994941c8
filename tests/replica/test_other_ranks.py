"""`headway ckpt restore-to --ranks M` makes nothing else of a state than M ranks would that restore
the checkpoint itself: what each rank had of its own is still that of the ranks that saved it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine

SCRIPT = SCRIPTS / "other_ranks.py"
SAVED, END = 8, 14  # two ranks have six batches a pass: saved in the middle of the second


def train(machine: Machine, folder: Path, ranks: int, steps: int, loader: str) -> list[str]:
    """What the ranks said, and what they were told; without who said it when."""
    output = machine.headway(
        "run", "--nproc", ranks, SCRIPT, FOLDER=folder, STEPS=steps, LOADER=loader
    )
    assert output.count(" end {'rows': ") == ranks, output
    return sorted(re.findall(r"(?:rank \d|headway: \w+ is not restored:) .*", output))


def cut(machine: Machine, folder: Path, ranks: int) -> Path:
    into = machine.tmp / f"{folder.name}-of-{ranks}"
    machine.headway("ckpt", "restore-to", folder, into, "--ranks", ranks)
    return into


@pytest.mark.parametrize(("ranks", "loader"), [(3, ""), (3, "with"), (1, "with")])
def test_cut_for_other_ranks(machine: Machine, ranks: int, loader: str) -> None:
    folder = machine.checkpoints
    train(machine, folder, 2, SAVED, loader)
    into = cut(machine, folder, ranks)
    said = train(machine, into, ranks, END, loader)
    assert said == train(machine, folder, ranks, END, loader)
    assert f"rank 0 goes on after {SAVED} from disk" in said
    told = [line for line in said if line.startswith("headway: ")]
    now = "there is 1" if ranks == 1 else f"there are {ranks}"
    assert len(told) == ranks * (2 if loader else 1), told
    assert all(f"it was saved by 2 ranks, each its own, and now {now}" in line for line in told)


def test_cut_and_cut_back(machine: Machine) -> None:
    """The ranks that saved it find everything that is theirs, also where fewer have the tensors."""
    folder = machine.checkpoints
    train(machine, folder, 2, SAVED, "with")
    one = cut(machine, folder, 1)
    two = cut(machine, cut(machine, folder, 3), 2)
    whole = train(machine, folder, 2, END, "with")
    assert not [line for line in whole if line.startswith("headway: ")]
    assert train(machine, two, 2, END, "with") == whole
    assert train(machine, one, 2, END, "with") == whole


@pytest.mark.parametrize("ranks", [3, 1])
def test_shards_of_two_are_those_of_others(machine: Machine, ranks: int) -> None:
    """From disk: cut by rows, by columns and not at all, and what the optimizer has beside."""

    def run(count: int, **words: object) -> tuple[set[str], set[str], int]:
        output = machine.headway("run", "--nproc", count, SCRIPTS / "other_shards.py", **words)
        found = set(re.findall(r"rank \d found (.*)", output))
        ends = re.findall(r"rank \d end (.*)", output)
        assert len(ends) == count, output
        return found, set(ends), output.count("goes on after 3 from disk\n")

    _, saved, _ = run(2, STEPS=3)
    machine.headway("ckpt", "verify", machine.checkpoints)
    found, end, from_disk = run(ranks, STEPS=5, SEED=2)
    assert (found, from_disk) == (saved, ranks)
    # And what they make of it the next ones find.
    found, _, _ = run(2, STEPS=6, SEED=3)
    assert found == end
