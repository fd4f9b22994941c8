"""A job is preempted by another of a higher tier, saves, comes back and goes on: one report."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "slurm" / "train.py"
# Saves at SIGTERM and ends well, as a script that knows nothing of Slurm's rules does.
SAVES = """
import os, signal, sys, time
def stop(*_):
    open("saved", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("resumed" if os.path.exists("saved") else "fresh", flush=True)
if os.path.exists("saved"):
    sys.exit(0)
time.sleep(1000)
"""


def steps_of(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\] step (\d+)$", text, re.MULTILINE)]


def test_a_preempted_training_goes_on_and_one_report_tells_it(cluster, runner):
    command = f"--nproc 2 {EXAMPLE} --steps 60 --step-s 0.05 --save-every 1000"
    job = runner.submit(command, "--signal=B:TERM@60", hook=True)
    job.wait_printed("] step 20\n")
    cluster.preempt(seconds=3)
    job.wait_requeued()
    # Inside the grace time of 30 s, so nobody but Headway has put it back.
    assert "preempted; back in the queue" in job.printed()
    assert job.wait_over() == "COMPLETED", job.printed()

    steps = steps_of(job.printed())
    assert steps == list(range(1, 61)), "each step once, none twice: the script's own log"
    report = runner.report()
    assert report["state"] == "finished"
    assert [row["attempt"] for row in report["attempts"]] == [1, 65537], "two allocations"
    first, second = report["attempts"]
    assert (first["outcome"], second["outcome"]) == ("failed", "clean")
    assert second["restored_step"] == first["last_step"]
    assert report["steps"]["finished"] == 60
    assert report["steps"]["replayed"] == 0
    assert report["wasted"]["replay_ns"] == 0
    (row,) = report["failures"]
    assert row["origin"] == "preemption"
    assert row["unsaved_ns"] == 0
    assert (report["l1"]["preemptions"], report["l1"]["failures"]) == (1, 0)
    # Between the two it waited for the urgent job, at least.
    assert report["queued_ns"] >= 3_000_000_000
    # It puts itself back into the queue after its last mark, and a busy controller lets it wait for
    # that: what lies between is no queue, and told beside it. Together they are all of it.
    between_ns = second["begin_ns"] - first["end_ns"]
    assert report["between_runs_ns"] + report["queued_ns"] == between_ns
    assert report["coverage"]["missing_marks"] == []
    assert report["attrs"]["slurm_job_id"] == job.number


@pytest.mark.parametrize(
    ("by", "options"),
    [
        ("srun", ()),  # a step hears SIGTERM when the grace time begins
        ("exec", ("--signal=B:USR1@60",)),  # the batch script hears the signal it asked for
    ],
)
def test_a_clean_end_inside_the_grace_time_does_not_end_the_job(cluster, runner, by, options):
    job = runner.submit(runner.script(SAVES), *options, by=by)
    job.wait_printed("fresh")
    cluster.preempt()
    job.wait_requeued()
    assert job.wait_over() == "COMPLETED", job.printed()
    assert "resumed" in job.printed()
    report = runner.report()
    assert [row["attempt"] for row in report["attempts"]] == [1, 65537]
    assert [row["origin"] for row in report["failures"]] == ["preemption"]
    assert report["state"] == "finished"


# Before the real one: a question after a job has its number, from 1 at the launch.
ASKED = """#!/bin/sh
if [ "$1 $2" = "show job" ]; then
  echo >> {count}
  number=$(wc -l < {count})
  {what}
fi
exec {real} "$@"
"""
# The one at the stop dies of SIGTERM, which Slurm sends to all processes of a step.
DIES = "[ $number = 2 ] && kill -TERM $$"
# A controller that is busy answers nobody for a while.
IS_BUSY = "[ $number -ge 2 ] && [ $number -le 4 ] && sleep 3 && exit 1"


# What it shows while it sends the signal; who asks at once may see it.
IS_SIGNALING = """[ $number = 2 ] && {
  {real} "$@" | sed s/JobState=RUNNING/JobState=SIGNALING/
  exit 0
}"""


@pytest.fixture
def scontrol(tmp_path):
    """Puts a wrapper before the real one; gives what to run below it, and the file of counts."""

    def wrap(what):
        wrapper, count = tmp_path / "bin" / "scontrol", tmp_path / "asked"
        wrapper.parent.mkdir()
        real = shutil.which("scontrol")
        text = ASKED.replace("{what}", what).replace("{count}", str(count)).replace("{real}", real)
        wrapper.write_text(text)
        wrapper.chmod(0o755)
        return f"env PATH={wrapper.parent}:$PATH", count

    return wrap


def test_a_job_that_is_being_signalled_runs(cluster, runner, scontrol):
    path, _ = scontrol(IS_SIGNALING)
    job = runner.submit(runner.script(SAVES), "--signal=B:TERM@60", by=f"exec {path}")
    job.wait_printed("fresh")
    cluster.preempt()
    job.wait_requeued()
    # Its rank was told, at once: at the end of the grace time Slurm would have requeued it.
    assert "preempted; back in the queue" in job.printed()
    assert job.wait_over() == "COMPLETED", job.printed()
    assert [row["origin"] for row in runner.report()["failures"]] == ["preemption"]


@pytest.mark.parametrize(
    ("what", "asked", "told"),
    [
        pytest.param(DIES, 3, ["preemption"], id="dies"),
        pytest.param(IS_BUSY, 5, [], id="busy"),  # the record was closed before the answer came
    ],
)
def test_a_question_without_an_answer_is_asked_again(cluster, runner, scontrol, what, asked, told):
    path, count = scontrol(what)
    job = runner.submit(runner.script(SAVES), by=f"srun {path}")
    job.wait_printed("fresh")
    cluster.preempt()
    job.wait_requeued()
    assert "preempted; back in the queue" in job.printed()
    assert job.wait_over() == "COMPLETED", job.printed()
    assert count.read_text().count("\n") >= asked
    assert [row["origin"] for row in runner.report()["failures"]] == told


def test_a_rank_that_catches_nothing_uses_its_grace_time(cluster, runner):
    text = (
        "import time\nprint('begun', flush=True)\ntime.sleep(4)\nprint('worked on', flush=True)\n"
    )
    job = runner.submit(runner.script(text), "--signal=B:USR1@60")
    job.wait_printed("begun")
    cluster.preempt()
    # SIGUSR1 would have killed it; its work was done before the grace time was over.
    job.wait_printed("worked on")


def test_without_a_grace_time_slurm_requeues_and_slurmstepd_says_why(cluster, runner):
    job = runner.submit(runner.script(SAVES), "--partition=nograce")
    job.wait_printed("fresh")
    cluster.preempt()
    job.wait_requeued()
    assert job.wait_over() == "COMPLETED", job.printed()
    assert "DUE TO PREEMPTION" in job.printed()
    assert "back in the queue" not in job.printed()
    assert [row["origin"] for row in runner.report()["failures"]] == ["preemption"]


def test_a_partition_that_cancels_is_obeyed(cluster, runner):
    job = runner.submit(runner.script(SAVES), "--partition=cancels", "--signal=B:TERM@60")
    job.wait_printed("fresh")
    cluster.preempt()
    assert job.wait_over() == "FAILED", f"{job.show()}\n{job.printed()}"
    assert job.show()["ExitCode"] == "143:0", "never 0: it was not done"
    assert job.show()["Restarts"] == "0"
    assert [row["origin"] for row in runner.report()["failures"]] == ["preemption"]


def test_no_requeue_is_obeyed(cluster, runner):
    job = runner.submit(runner.script(SAVES), "--no-requeue", "--signal=B:TERM@60")
    job.wait_printed("fresh")
    cluster.preempt()
    job.wait_over()
    assert job.show()["Restarts"] == "0"
    assert [row["origin"] for row in runner.report()["failures"]] == ["preemption"]
