"""Lightning's Trainer and that of transformers, killed at a step and started again: the same
batches and the same weights, to the last bit, as if nobody had."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine

PACKAGES = {"lightning": "lightning.pytorch", "huggingface": "transformers"}


def output_of(machine: Machine, kind: str, ranks: int = 1, **variables: object) -> str:
    script = SCRIPTS / f"{kind}_train.py"
    options = {"OUTPUT": machine.tmp, **variables}
    return machine.headway("run", "--nproc", ranks, "--max-restarts", 1, script, **options)


def run(machine: Machine, kind: str, **variables: object) -> list[str]:
    output = output_of(machine, kind, **variables)
    return re.findall(r"(?:epoch \d+ )?batch .*|end .*", output)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory):
    @functools.cache
    def whole(kind: str, accumulate: int) -> list[str]:
        machine = Machine(tmp_path_factory.mktemp(kind))
        said = run(machine, kind, ACCUMULATE=accumulate)
        machine.close()
        return said

    return whole


# 6 batches an epoch: with the last of one; with gradients accumulated over 4; in the middle of one.
MOMENTS = [(6, 1), (3, 4), (8, 1)][: 3 if os.environ.get("HEADWAY_TEST_FULL") else 2]


@pytest.mark.parametrize("kill,accumulate", MOMENTS)
@pytest.mark.parametrize("kind", PACKAGES)
def test_a_killed_trainer_ends_as_if_it_had_not_been(
    machine: Machine, undisturbed, kind: str, kill: int, accumulate: int
) -> None:
    pytest.importorskip(PACKAGES[kind])
    said = run(machine, kind, ACCUMULATE=accumulate, KILL=kill)
    assert Path(f"{machine.checkpoints}.killed").exists()
    assert said == undisturbed(kind, accumulate)


@pytest.mark.parametrize("kind", PACKAGES)
def test_two_ranks_of_which_one_is_killed(machine: Machine, tmp_path: Path, kind: str) -> None:
    """The other may have begun with the next batch by then: it begins with it again."""
    pytest.importorskip(PACKAGES[kind])
    (tmp_path / "undisturbed").mkdir()
    undisturbed = Machine(tmp_path / "undisturbed")
    line = re.compile(r"^\[\d\] (?:epoch \d+ )?(?:batch|end) .*", re.MULTILINE)
    try:
        whole = set(line.findall(output_of(undisturbed, kind, 2)))
    finally:
        undisturbed.close()
    said = output_of(machine, kind, 2, KILL=5)
    assert Path(f"{machine.checkpoints}.killed").exists()
    assert len(whole) > 10 and sum(" end " in each for each in whole) == 2
    assert set(line.findall(said)) == whole
