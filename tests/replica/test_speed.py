"""`auto` leaves saves by rows where they take longer than a copy of everything, and tries again."""

from __future__ import annotations

import json
import math
import re

import pytest
from fault_training import mounted, needs_root
from replica_machine import SCRIPTS, Machine, end_of

from headway.checkpoint.speed import AGAIN, SAVES, Save, Speed, rows_are_slower

LINE = "headway: saves by rows take longer than a copy of everything"


@pytest.mark.parametrize(
    ("saves", "slower"),
    [
        ([Save(0.2, False)] * SAVES, True),
        ([Save(0.2, False)] * (SAVES - 1), False),  # too few
        ([Save(0.2, False)] * (SAVES - 1) + [Save(0.01, False)], False),  # one was quick
        ([Save(0.17, False)] * SAVES, False),  # longer, but the disk was written meanwhile
        ([Save(0.1, True)] * SAVES, True),  # everything was copied after all
        ([Save(0.1, True), Save(0.2, False)] * SAVES, True),
    ],
)
def test_several_saves_in_a_row_decide(saves: list[Save], slower: bool) -> None:
    assert rows_are_slower(saves, whole_s=0.1) is slower


def test_what_nothing_is_known_of_is_not_left() -> None:
    assert not rows_are_slower([Save(1e9, False)] * SAVES, math.inf)


def test_the_first_copy_of_a_layout_says_what_everything_takes() -> None:
    speed = Speed()
    speed.planned()
    speed.saved(0.5, 0.1, whole=True)  # nothing is there that rows could follow
    for _ in range(SAVES):
        assert not speed.says_leave()
        speed.saved(0.2, 0.05, whole=False)
    assert speed.says_leave()
    assert not speed.says_leave(), "the next ones are asked about themselves"
    for _ in range(SAVES):
        speed.saved(0.05, 0.05, whole=False)
    assert not speed.says_leave()
    speed.planned()
    assert speed.whole_s == math.inf and speed.wholes == 0


def test_rows_are_tried_again_after_ever_more_saves() -> None:
    speed = Speed()
    for saves in (AGAIN, 2 * AGAIN, 4 * AGAIN):
        speed.leave_rows()
        assert not any(speed.says_again() for _ in range(saves - 1)) and speed.says_again()
        speed.try_rows()
        assert not speed.says_again()


def modes(output: str, rank: int = 0) -> list[str]:
    return re.findall(rf"rank {rank} step \d+ (\w+)", output)


def test_tables_of_which_all_rows_change_are_copied_whole(machine: Machine) -> None:
    """Whatever it takes: looking for rows comes on top of the copy."""
    plain = end_of(machine.run("train_tables.py", ALL_UNTIL=12, STAGING="full"))
    machine.end_holders()
    fresh = {"FOLDER": str(machine.tmp / "fresh"), "ALL_UNTIL": 12}
    script = SCRIPTS / "train_tables.py"
    words = ["run", "--job", "j", "--max-restarts", 2, script]
    output = machine.headway(*words, KILL=9, **fresh)
    assert modes(output)[:9] == ["rows"] * (SAVES + 1) + ["full"] * (8 - SAVES), output
    assert "goes on after 9 from replica" in output
    assert end_of(output) == plain
    assert output.count(LINE) == 1, "once, and the three saves after the restart are too few"


def test_the_report_says_that_rows_took_longer(machine: Machine) -> None:
    script = SCRIPTS / "train_tables.py"
    output = machine.headway("run", "--job", "j", script, ALL_UNTIL=12)
    assert output.count(LINE) == 1, output
    shown = json.loads(machine.headway("report", "j", "--json"))["attrs"]["checkpoints"]
    assert re.fullmatch(r"full, 2 x .* of memory for each rank; rows took longer", shown), shown


def test_ranks_leave_rows_together_and_try_them_again(machine: Machine) -> None:
    def train(job: str, **variables: object) -> str:
        script = SCRIPTS / "train_tables.py"
        words = ["run", "--nproc", 2, "--job", job, "--max-restarts", 2, script]
        settings = {"ALL_UNTIL": 6, "STEPS": 14, "FOLDER": str(machine.tmp / job)}
        return machine.headway(*words, **settings, **variables)

    plain = train("full", STAGING="full")
    machine.end_holders()
    output = train("auto", AGAIN=3)
    assert end_of(output) == end_of(plain)
    # The fifth save is the fourth that copied everything after all; three later rows are tried
    # again, and the second save of these finds that few change.
    wanted = ["rows"] * 5 + ["full"] * 3 + ["rows"] * 6
    assert modes(output, 0) == modes(output, 1) == wanted, output
    assert output.count(LINE) == 1, output


def test_ranks_whose_layouts_change_at_different_saves_decide_as_one(machine: Machine) -> None:
    """What one rank says of itself outgrows its room alone, and nobody waits for anybody."""
    script = SCRIPTS / "train_tables.py"
    words = ["run", "--nproc", 2, "--job", "j", script]
    for rank in (0, 1):
        settings = {"ALL_UNTIL": 18, "STEPS": 18, "AGAIN": 3, "WORDY": f"{rank}:3,13"}
        output = machine.headway(*words, FOLDER=str(machine.tmp / f"wordy{rank}"), **settings)
        assert modes(output, 0) == modes(output, 1), output
        assert "full" in modes(output, 0), output
        machine.end_holders()


@needs_root
@pytest.mark.parametrize(("size", "left"), [("4600k", False), ("64m", True)])
def test_rows_are_left_only_where_there_is_memory(machine: Machine, size: str, left: bool) -> None:
    """Two copies of 1.9 MB are there, a third one is wanted."""
    with mounted(machine.memory, "-t", "tmpfs", "-o", f"size={size}", "none"):
        output = machine.run("train_tables.py", ALL_UNTIL=12, OFTEN=1)
        machine.end_holders()
    assert (modes(output)[-1] == "full") is left and (LINE in output) is left, output


@needs_root
def test_rows_are_tried_again_in_little_memory(machine: Machine) -> None:
    """Of which images of everything hold most: that is no reason to give up all of them."""
    with mounted(machine.memory, "-t", "tmpfs", "-o", "size=6400k", "none"):
        output = machine.run("train_tables.py", ALL_UNTIL=7, STEPS=14, AGAIN=3)
        machine.end_holders()
    assert modes(output) == ["rows"] * 5 + ["full"] * 3 + ["rows"] * 6, output


def test_who_asked_for_rows_keeps_them(machine: Machine) -> None:
    output = machine.run("train_tables.py", ALL_UNTIL=12, STAGING="rows")
    assert set(modes(output)) == {"rows"} and LINE not in output, output
