"""`headway run` in the environment of a Slurm job, with a controller that is a script. What a real
one does is tests/slurm's to show; here it is slow, silent, or says what it rarely says."""

from __future__ import annotations

import os
import signal
import time

import pytest

TERM = 128 + signal.SIGTERM
WAITS = "import time\nopen('ready', 'w').close()\ntime.sleep(1000)\n"
SAVES = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
open('ready', 'w').close()
time.sleep(1000)
"""
RUNNING = "JobId=4711 JobState=RUNNING Reason=None Requeue=1 Restarts=2 BatchFlag=1"


class Controller:
    def __init__(self, agent) -> None:
        self.agent = agent
        self.folder = agent.folder / "bin"
        self.folder.mkdir()
        agent.environment |= {
            "SLURM_JOB_ID": "4711",
            "SLURM_RESTART_COUNT": "2",
            "PATH": f"{self.folder}{os.pathsep}{agent.environment['PATH']}",
        }

    def answers(self, text: str) -> None:
        self._write(f"echo \"$*\" >> {self.folder}/asked; echo '{text}'")

    def is_silent(self) -> None:
        self._write("exec sleep 1000")

    def _write(self, body: str) -> None:
        path = self.folder / "scontrol"
        path.with_suffix(".new").write_text(f"#!/bin/sh\n{body}\n")
        path.with_suffix(".new").chmod(0o755)
        path.with_suffix(".new").rename(path)

    def asked(self) -> list[str]:
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def controller(agent) -> Controller:
    return Controller(agent)


def started(agent, until, text=WAITS):
    process = agent.start("--python", "python3", agent.script(text))
    until((agent.folder / "ready").exists, "the rank is ready")
    return process


def journal_of(agent):
    attempt = 2 * 65536 + 1
    assert agent.attempts("train-4711") == [attempt]
    return agent.journal("train-4711", attempt)


def test_the_controllers_times_become_marks(agent, controller):
    now = int(time.time())
    controller.answers(f"{RUNNING} SubmitTime={now - 100} StartTime={now - 40}")
    assert agent.run("--python", "python3", agent.script("pass")).returncode == 0
    journal = journal_of(agent)
    names = [mark.name for mark in journal.marks[:4]]
    assert names == ["submitted", "resources_available", "allocated", "launcher_start"]
    submitted, available, allocated, launched = (mark.ticks for mark in journal.marks[:4])
    assert submitted < available == allocated < launched
    assert journal.attrs["slurm_job_id"] == "4711"


def test_a_silent_controller_costs_a_moment_and_no_job(agent, controller):
    controller.is_silent()
    done = agent.run("--python", "python3", agent.script("raise SystemExit(3)"))
    assert done.returncode == 3
    journal = journal_of(agent)
    assert not journal.named("submitted"), "nothing is made up"
    assert len(journal.named("allocated")) == 1


@pytest.mark.parametrize("text", [WAITS, SAVES], ids=["dies", "saves"])
def test_a_stop_nobody_explains_is_neither_preemption_nor_success(agent, controller, until, text):
    controller.is_silent()
    process = started(agent, until, text)
    process.terminate()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == TERM
    assert b"no answer, so it is not requeued; `scontrol requeue 4711` brings it back" in errors
    journal = journal_of(agent)
    assert [mark.origin for mark in journal.named("failure")] == (
        ["unknown"] if text == WAITS else []
    )
    assert not journal.named("preempt_notice")
    assert not journal.named("job_end"), "Slurm may start it again"


def test_a_preemption_is_recorded_and_the_job_put_back(agent, controller, until):
    controller.answers(f"{RUNNING} StartTime=1 PreemptTime=1794813706 Partition=low")
    process = started(agent, until, SAVES)
    process.terminate()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == TERM
    assert b"back in the queue" in errors
    assert controller.asked()[-1] == "requeue 4711"
    journal = journal_of(agent)
    assert len(journal.named("preempt_notice")) == 1
    assert not journal.named("job_end")


def test_requeue_never_is_obeyed(agent, controller, until):
    controller.answers(f"{RUNNING} StartTime=1 PreemptTime=1794813706 Partition=low")
    process = agent.start("--requeue", "never", "--python", "python3", agent.script(SAVES))
    until((agent.folder / "ready").exists, "the rank is ready")
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == TERM
    assert "requeue 4711" not in controller.asked()


def test_usr1_is_a_notice_only_if_the_controller_says_so(agent, controller, until):
    controller.answers(f"{RUNNING} StartTime=1 EndTime=Unknown")
    process = started(agent, until, SAVES)
    process.send_signal(signal.SIGUSR1)  # by hand: the rank does not catch it and must not die
    until(lambda: len(controller.asked()) >= 3, "the controller was asked why")
    controller.answers(f"{RUNNING} StartTime=1 PreemptTime=1794813706 Partition=low")
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=30)
    assert process.returncode == TERM, "it was told by SIGTERM, which it does catch"
    assert len(journal_of(agent).named("preempt_notice")) == 1


def test_a_bad_word_for_requeue(agent):
    done = agent.run("--requeue", "always", agent.script("pass"))
    assert done.returncode == 2
    assert b"want never, preempted or time-limit" in done.stderr
