"""hw.checkpointer under `headway run`: ranks, holder and agent are killed for real."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from marked_processes import proc_file
from replica_machine import HEADWAY, SCRIPTS, Machine, Running, wait_until

TRAIN = SCRIPTS / "train.py"


def ends_of(output: str) -> list[str]:
    found = re.findall(r"^\[\d\] rank \d end (.*)$", output, re.MULTILINE)
    assert len(found) == 2, output
    return sorted(found)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    machine = Machine(tmp_path_factory.mktemp("undisturbed"))
    ends = ends_of(machine.headway("run", "--nproc", 2, TRAIN))
    machine.close()
    return ends


def report(machine: Machine, job: str) -> dict:
    return json.loads(machine.headway("report", job, "--json"))


def test_a_killed_rank_costs_no_step(machine: Machine, undisturbed: list[str]) -> None:
    output = machine.headway(
        "run", "--nproc", 2, "--max-restarts", 2, "--job", "j", TRAIN, KILL=7, SURE=1
    )
    assert output.count("goes on after 7 from replica") == 2, output
    assert ends_of(output) == undisturbed
    attempts = report(machine, "j")["attempts"]
    assert [a["restored_step"] for a in attempts] == [None, 7]
    assert attempts[1]["restored_tier"].startswith("replica")


def test_what_was_only_in_memory_is_on_disk_soon_after_a_kill(
    machine: Machine, undisturbed: list[str]
) -> None:
    """Whenever the next save is due: the machine may be the next to go."""
    running = Running(
        machine,
        *["--nproc", 2, "--max-restarts", 2, "--job", "j", TRAIN],
        EVERY=100,
        STAGE=1,
        STAGED=1,
        KILL=7,
        PAUSE="5,9",
    )
    running.wait_for("rank 0 pauses after 5")
    assert machine.steps() == [], "no save is due"
    Path(f"{machine.checkpoints}.go-5").touch()
    wait_until(lambda: running.log.read_text().count("goes on after") == 4, "it goes on")
    wait_until(lambda: machine.steps() != [], "a step is on disk while the job goes on")
    wait_until(lambda: "good" in machine.headway("ckpt", "ls", machine.checkpoints), "and whole")
    listed = machine.headway("ckpt", "ls", machine.checkpoints)
    (step,) = machine.steps()
    said = running.log.read_text()
    assert said.count(f"goes on after {step} from replica") == 2, said
    assert re.search(rf"step-{step:08}-\d+ .*good", listed), listed
    Path(f"{machine.checkpoints}.go-9").touch()
    assert running.process.wait(timeout=60) == 0, running.log.read_text()
    assert ends_of(running.log.read_text()) == undisturbed


def test_a_crash_that_may_have_written_anywhere(machine: Machine, undisturbed: list[str]) -> None:
    output = machine.headway(
        "run", "--nproc", 2, "--max-restarts", 2, TRAIN, KILL=7, SIGNAL="SIGSEGV", SURE=1
    )
    assert output.count("goes on after 7 from replica") == 2, output
    assert ends_of(output) == undisturbed


def test_the_agent_dies_and_what_was_staged_is_written(
    machine: Machine, undisturbed: list[str]
) -> None:
    job = ["--nproc", 2, "--job", "j", TRAIN]
    first = Running(machine, *job, SURE=1, PAUSE=7)
    first.wait_for("rank 0 pauses after 7")
    first.wait_for("rank 1 pauses after 7")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    output = machine.headway("run", *job, SURE=1)
    assert output.count("goes on after 7 from disk\n") == 2, output
    assert ends_of(output) == undisturbed


def test_the_holder_dies_and_nobody_notices(machine: Machine, undisturbed: list[str]) -> None:
    running = Running(machine, "--nproc", 2, TRAIN, SURE=1, PAUSE=7)
    running.wait_for("rank 0 pauses after 7")
    running.wait_for("rank 1 pauses after 7")
    for pid in machine.holders():
        os.kill(pid, signal.SIGKILL)
    (machine.tmp / "checkpoints.go").touch()
    assert running.process.wait(timeout=60) == 0, running.log.read_text()
    assert ends_of(running.log.read_text()) == undisturbed
    assert machine.steps()[-1] == 12


def test_the_program_is_replaced_under_a_job(machine: Machine, undisturbed: list[str]) -> None:
    binary = machine.tmp / "headway"
    shutil.copy(HEADWAY, binary)
    python = os.environ.get("HEADWAY_PYTHON", str(HEADWAY.parent / "python"))
    running = Running(
        machine,
        *["--nproc", 2, TRAIN],
        binary=binary,
        SURE=1,
        PAUSE=7,
        HEADWAY_PYTHON_DIR=python,
    )
    running.wait_for("rank 0 pauses after 7")
    running.wait_for("rank 1 pauses after 7")
    binary.unlink()
    binary.write_text("another version")
    for pid in machine.holders():
        os.kill(pid, signal.SIGKILL)
    (machine.tmp / "checkpoints.go").touch()
    assert running.process.wait(timeout=90) == 0, running.log.read_text()
    assert ends_of(running.log.read_text()) == undisturbed
    assert machine.steps()[-1] == 12


def test_a_notice_saves_the_last_step_on_the_way_down(
    machine: Machine, undisturbed: list[str]
) -> None:
    job = ["--nproc", 2, "--job", "j", TRAIN]
    first = Running(machine, *job, EVERY=100, SLOW=0.2)
    first.wait_for("rank 0 step 3")
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(timeout=60) == 128 + signal.SIGTERM, first.log.read_text()
    saved = machine.steps()
    assert len(saved) == 1, "one step, the same on both ranks, and on disk"
    output = machine.headway("run", *job)
    assert output.count(f"goes on after {saved[0]} from disk\n") == 2, output
    assert ends_of(output) == undisturbed
    whole = report(machine, "j")
    assert whole["steps"]["replayed"] == 0, whole["steps"]


@pytest.mark.parametrize(("ranks", "how"), [(2, "plain"), (1, "with")])
def test_a_loop_that_does_not_ask_is_ended_after_a_notice(
    machine: Machine, ranks: int, how: str
) -> None:
    job = ["--nproc", ranks, "--job", "j", SCRIPTS / "never_asks.py"]
    for number in (signal.SIGTERM, signal.SIGINT):
        before = machine.steps()
        running = Running(machine, *job, HOW=how)
        running.wait_for(f"rank 0 step {(before or [0])[-1] + 5}")
        running.process.send_signal(number)
        assert running.process.wait(timeout=60) == 128 + number, running.log.read_text()
        said = running.log.read_text()
        saved = machine.steps()
        assert len(saved) == len(before) + 1, "one step, and not every one from then on"
        assert said.count(f"asked to stop, and step {saved[-1]} is on disk") == 1, said
        assert f"rank 0 goes on after {(before or [0])[-1]}\n" in said
        for word in ("not reached", "Traceback", "without close()"):
            assert word not in said, said
        last = [int(n) for n in re.findall(r"rank \d step (\d+)", said)]
        assert max(last) <= saved[-1], "no step beyond it is told as done"


@pytest.mark.parametrize(
    ("staging", "said"),
    [
        ("full", r"full, 2 x [\d.]+ [KM]iB of memory for each rank"),
        ("stream", "stream, no replica in memory"),
    ],
)
def test_the_report_says_how_it_is_saved(machine: Machine, staging: str, said: str) -> None:
    machine.headway("run", "--job", "j", SCRIPTS / "train_tables.py", STAGING=staging, STEPS=2)
    assert re.fullmatch(said, report(machine, "j")["attrs"]["checkpoints"])


def test_a_job_that_does_not_save_costs_no_holder(machine: Machine) -> None:
    running = Running(machine, "--", "sleep", "1")
    running.process.wait(timeout=30)
    script = machine.tmp / "plain.py"
    script.write_text("import os; print(sorted(os.listdir(os.environ['HEADWAY_REPLICA'])))")
    assert "['holder.sock']" in machine.headway("run", script)
    assert not machine.holders()


def test_two_jobs_do_not_share_a_folder(machine: Machine) -> None:
    first = Running(machine, "--nproc", 2, TRAIN, SURE=1, PAUSE=3)
    first.wait_for("rank 0 pauses after 3")
    output = machine.headway("run", "--nproc", 2, "--job", "other", TRAIN, SURE=1, code=1)
    assert re.search(r"CheckpointError: checkpointer: .*/checkpoints: in use by the job", output)
    (machine.tmp / "checkpoints.go").touch()
    assert first.process.wait(timeout=60) == 0, proc_file(first.process.pid, "status")
