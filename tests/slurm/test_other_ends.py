"""Ends that look like a preemption and are none."""

from __future__ import annotations

import pytest

WAITS = """
import time
print("begun", flush=True)
time.sleep(1000)
"""
SAVES = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("begun", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("by", ["exec", "srun"])
@pytest.mark.parametrize("text", [WAITS, SAVES], ids=["dies", "saves"])
def test_scancel_is_not_a_preemption(cluster, runner, by, text):
    job = runner.submit(runner.script(text), by=by)
    job.wait_printed("begun")
    cluster.ask("scancel", job.number)
    assert job.wait_over() == "CANCELLED"
    report = runner.report()
    assert report["l1"]["preemptions"] == 0
    assert [row["origin"] for row in report["failures"]] == (["user"] if text == WAITS else [])
    assert report["state"] == ("failed" if text == WAITS else "finished")


def test_a_users_error_is_not_requeued(cluster, runner):
    job = runner.submit(runner.script("raise SystemExit(3)"))
    assert job.wait_over() == "FAILED"
    shown = job.show()
    assert (shown["ExitCode"], shown["Restarts"]) == ("3:0", "0")
    report = runner.report()
    assert report["l1"]["preemptions"] == 0
    assert report["state"] == "failed"


def test_a_requeue_by_hand_is_not_called_a_preemption(cluster, runner):
    text = """
import os, sys, time
print("begun", flush=True)
if os.environ.get("SLURM_RESTART_COUNT", "0") == "0":
    time.sleep(1000)
"""
    job = runner.submit(runner.script(text))
    job.wait_printed("begun")
    cluster.ask("scontrol", "requeue", job.number)
    job.wait_requeued()
    assert job.wait_over() == "COMPLETED"
    report = runner.report()
    assert [row["origin"] for row in report["failures"]] == ["unknown"]
    assert [row["attempt"] for row in report["attempts"]] == [1, 65537]


def test_a_hold_is_not_the_queue(cluster, runner):
    job = runner.submit(runner.script("print('done')"), "--begin=now+4")
    assert job.wait_over() == "COMPLETED"
    assert runner.report()["queued_ns"] < 4_000_000_000


def test_the_time_limit_is_the_users_and_a_warning_is_enough_to_come_back(cluster, runner):
    """Slurm's shortest limit is a minute, so one test tries both: with --requeue time-limit the
    warning brings the job back; the second time it goes on and runs into the limit."""
    text = """
import os, signal, sys, time
def warned(*_):
    if os.environ.get("SLURM_RESTART_COUNT", "0") == "0":
        sys.exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    print("goes on", flush=True)
signal.signal(signal.SIGTERM, warned)
while True:
    time.sleep(1)
"""
    job = runner.submit(
        f"--requeue time-limit {runner.script(text)}", "--time=1", "--signal=B:TERM@30"
    )
    job.wait_requeued()
    assert "out of time; back in the queue" in job.printed()
    assert job.wait_over() == "TIMEOUT"
    assert "goes on" in job.printed()
    report = runner.report()
    assert report["l1"]["preemptions"] == 0
    assert [row["origin"] for row in report["failures"]] == ["user"]
    assert [row["outcome"] for row in report["attempts"]] == ["clean", "failed"]
