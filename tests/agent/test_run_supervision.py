"""Ends: exit codes, signals, restarts, and that nothing is ever left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from marked_processes import proc_file

# A rank that starts a helper in its own group and one that has left it, says so, and waits.
WITH_HELPERS = """
import os, signal, subprocess, sys, time
subprocess.Popen(["sleep", "1000"])
subprocess.Popen(["sleep", "1000"], start_new_session=True)
open(f"ready-{os.environ['RANK']}", "w").close()
time.sleep(1000)
"""


def started(agent, until, *options: str, text: str = WITH_HELPERS, nproc: int = 2):
    process = agent.start(
        "--python", sys.executable, "--nproc", str(nproc), *options, agent.script(text)
    )
    ready = [agent.folder / f"ready-{rank}" for rank in range(nproc)]
    until(lambda: all(path.exists() for path in ready), "the ranks run")
    return process


def pid_of_rank(agent, rank: int) -> int:
    for pid in agent.living():
        environ = proc_file(pid, "environ").split(b"\0")
        if f"RANK={rank}".encode() in environ and f"HEADWAY_RANK_PID={pid}".encode() in environ:
            return pid
    raise AssertionError(f"rank {rank} is not alive")


@pytest.mark.parametrize("nproc", ["1", "2"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("raise ValueError", 1),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.abort()", 134),
    ],
)
def test_the_exit_code_is_the_ranks_own(agent, nproc, text, code):
    assert agent.python(text, "--nproc", nproc).returncode == code


def test_the_first_failing_rank_gives_the_code_and_the_rest_are_ended(agent):
    text = """
import os, sys, time
if os.environ["RANK"] == "1":
    sys.exit(7)
time.sleep(1000)
"""
    done = agent.python(text, "--nproc", "3", "--job", "j")
    assert done.returncode == 7
    assert b"rank 1 exited with code 7" in done.stderr
    assert b"headway: job j: 1 attempt, 1 failure" in done.stderr
    journal = agent.journal("j", 1)
    (failure,) = journal.named("failure")
    assert (failure.rank, failure.exit_code, failure.origin) == (1, 7, "unknown")
    exits = {mark.rank: mark for mark in journal.named("exit")}
    assert exits[0].signal == exits[2].signal == signal.SIGTERM


def test_the_last_line_counts_this_run_and_all(agent):
    first = agent.python("raise SystemExit(3)", "--job", "j", "--max-restarts", "1").stderr
    assert b"headway: job j: 2 attempts, 2 failures \xc2\xb7" in first, "there was no other run"
    again = agent.python("pass", "--job", "j").stderr
    assert b"headway: job j: 1 attempt, 0 failures in this run; 3 attempts in all" in again


def test_a_rank_that_will_not_end_is_killed_after_the_grace(agent):
    text = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(f"ready-{os.environ['RANK']}", "w").close()
while not os.path.exists("ready-0"): time.sleep(0.01)
if os.environ["RANK"] == "1":
    sys.exit(7)
time.sleep(1000)
"""
    done = agent.python(text, "--nproc", "2", "--grace", "0.3", "--job", "j")
    assert done.returncode == 7
    exits = {mark.rank: mark for mark in agent.journal("j", 1).named("exit")}
    assert exits[0].signal == signal.SIGKILL


def test_a_killed_rank_restarts_the_group(agent, until):
    text = WITH_HELPERS.replace(
        "time.sleep(1000)\n",
        "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0': time.sleep(1000)\n",
    )
    process = started(agent, until, "--max-restarts", "2", "--job", "j", text=text)
    os.kill(pid_of_rank(agent, 1), signal.SIGKILL)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert b"rank 1 was killed by SIGKILL; restarting (1 of 2)" in err
    assert b"headway: job j: 2 attempts, 1 failure" in err
    assert agent.attempts("j") == [1, 2]
    first, second = agent.journal("j", 1), agent.journal("j", 2)
    assert [mark.name for mark in first.marks] == [
        *("submitted", "resources_available", "allocated", "launcher_start"),
        *("trainer_start", "trainer_start", "failure", "exit", "exit"),
    ]
    (failure,) = first.named("failure")
    assert (failure.rank, failure.signal, failure.origin) == (1, signal.SIGKILL, "unknown")
    assert [mark.name for mark in second.marks] == [
        *("launcher_start", "trainer_start", "trainer_start", "exit", "exit", "job_end"),
    ]
    assert all(mark.origin == "none" for mark in second.named("exit"))


def test_restarts_are_counted_out(agent):
    text = "import os; open('runs', 'a').write(os.environ['HEADWAY_ATTEMPT'] + ' '); os._exit(4)"
    done = agent.python(text, "--max-restarts", "2", "--job", "j")
    assert done.returncode == 4
    assert (agent.folder / "runs").read_text() == "1 2 3 "
    assert [len(agent.journal("j", n).named("job_end")) for n in (1, 2, 3)] == [0, 0, 1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("nproc", [1, 2])
def test_a_stop_reaches_the_ranks_and_ends_the_job(agent, until, number, nproc):
    process = started(agent, until, "--max-restarts", "5", "--job", "j", nproc=nproc)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    journal = agent.journal("j", 1)
    assert len(journal.named("preempt_notice")) == 1
    (failure,) = journal.named("failure")
    assert failure.origin == "user"
    assert len(journal.named("job_end")) == 1
    assert json.loads(agent.headway("report", "j", "--json").stdout)["state"] == "stopped"


def test_a_rank_may_finish_its_work_after_a_stop(agent, until):
    text = """
import os, signal, sys, time
def stop(*_):
    time.sleep(0.3)
    open("saved", "w").close()
    sys.exit(0)
if os.environ["RANK"] == "0":
    signal.signal(signal.SIGTERM, stop)
open(f"ready-{os.environ['RANK']}", "w").close()
time.sleep(1000)
"""
    process = started(agent, until, "--grace", "0", text=text)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM, "rank 1 had no handler"
    assert (agent.folder / "saved").exists()


def test_a_second_interrupt_kills(agent, until):
    text = """
import os, signal, time
def note(*_):
    open(f"noted-{os.environ['RANK']}", "w").close()
signal.signal(signal.SIGINT, note)
open(f"ready-{os.environ['RANK']}", "w").close()
while True: time.sleep(1000)
"""
    process = started(agent, until, text=text)
    process.send_signal(signal.SIGINT)
    until(lambda: all((agent.folder / f"noted-{r}").exists() for r in (0, 1)), "both had it")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGKILL


def test_user_signals_pass_through(agent, until):
    text = """
import os, signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))
open(f"ready-{os.environ['RANK']}", "w").close()
time.sleep(1000)
"""
    process = started(agent, until, text=text)
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_nohup_is_respected(agent, until):
    def ignore_hangup() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = agent.start(
        "--python", sys.executable, agent.script(WITH_HELPERS), preexec_fn=ignore_hangup
    )
    until((agent.folder / "ready-0").exists, "the rank runs")
    process.send_signal(signal.SIGHUP)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM, "a second stop would have killed"


def guards(agent) -> list[int]:
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/comm")
        if path.read_text() == "headway-guard\n" and int(path.parent.name) in agent.living()
    ]


@pytest.mark.parametrize("nproc", [1, 2])
def test_nothing_survives_the_agents_own_sudden_death(agent, until, nproc):
    process = started(agent, until, nproc=nproc)
    assert len(agent.living()) == 2 + 3 * nproc, "agent, guard, and each rank with two helpers"
    process.kill()
    process.communicate(timeout=30)
    until(lambda: not agent.living(), "all are gone")


def test_what_even_the_guard_could_not_end_the_next_agent_does(agent, until):
    process = started(agent, until, "--job", "j")
    for pid in guards(agent):
        os.kill(pid, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=30)
    until(lambda: len(agent.living()) == 4, "the ranks are gone and their helpers are not")
    done = agent.python("pass", "--job", "j")
    assert done.returncode == 0
    assert "ended 4 processes that an earlier agent of this job had left" in done.stderr.decode()
    assert agent.living() == []


SHARED = """
import os, signal, sys, time
from multiprocessing import shared_memory, Semaphore, get_context
held = shared_memory.SharedMemory(create=True, size=1 << 16)
lock = get_context("spawn").Semaphore(1)
open(f"shm-{os.environ['RANK']}", "w").write(held.name)
open(f"ready-{os.environ['RANK']}", "w").close()
time.sleep(1000)
"""


@pytest.mark.parametrize("victim", ["rank", "agent", "stop"])
def test_no_shared_memory_is_left(agent, until, victim):
    process = started(agent, until, text=SHARED)
    names = [(agent.folder / f"shm-{rank}").read_text() for rank in (0, 1)]
    assert all(Path("/dev/shm", name).exists() for name in names)
    if victim == "rank":
        os.kill(pid_of_rank(agent, 1), signal.SIGKILL)
    elif victim == "agent":
        process.kill()
    else:
        process.terminate()
    process.communicate(timeout=30)
    until(lambda: not agent.living(), "all are gone")
    assert not any(Path("/dev/shm", name).exists() for name in names)


def test_helpers_do_not_outlive_a_clean_end(agent):
    text = WITH_HELPERS.replace("time.sleep(1000)\n", "")
    done = agent.python(text, "--nproc", "2")
    assert done.returncode == 0
    assert agent.living() == []


def test_orphans_are_reaped_while_the_job_runs(agent, until):
    text = """
import os, subprocess, time
subprocess.run(["sh", "-c", "sleep 0.05 & exit 0"])
time.sleep(0.2)
open(f"ready-{os.environ['RANK']}", "w").close()
time.sleep(1000)
"""
    process = started(agent, until, text=text, nproc=1)

    def children_of_agent() -> list[str]:
        states = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == process.pid:
                states.append(fields[0])
        return states

    until(lambda: len(children_of_agent()) == 2, "only guard and rank are its children")
    assert "Z" not in children_of_agent()
    process.terminate()
    process.communicate(timeout=30)


def test_children_that_were_there_before_are_spared(agent):
    command = 'sleep 1000 & echo $! > before; exec "$0" run -q -- true'
    shell = subprocess.run(
        ["sh", "-c", command, agent.binary], env=agent.environment, cwd=agent.folder, timeout=30
    )
    assert shell.returncode == 0
    before = int((agent.folder / "before").read_text())
    os.kill(before, signal.SIGKILL)  # raises where it is gone already


def test_one_agent_at_a_time(agent, until):
    process = started(agent, until, "--job", "j")
    done = agent.run("--job", "j", "--", "true")
    assert done.returncode == 2
    assert b"job j is already being run by pid %d on " % process.pid in done.stderr
    process.terminate()
    process.communicate(timeout=30)
    assert agent.run("--job", "j", "--", "true").returncode == 0
    assert agent.attempts("j") == [1, 65537]


def test_the_same_job_again_goes_on_with_new_attempts(agent):
    for _ in range(3):
        assert agent.run("--job", "j", "--", "true").returncode == 0
    assert agent.attempts("j") == [1, 65537, 2 * 65536 + 1]
    assert len(agent.journal("j", 65537).named("allocated")) == 1


def test_unnamed_jobs_never_share_a_folder(agent):
    for _ in range(3):
        assert agent.run("--", "true").returncode == 0
    assert len(list(agent.jobs.iterdir())) == 3


def test_the_journal_says_what_was_run(agent):
    agent.script("pass")
    done = agent.run(
        *("--job", "j", "--attr", "family=dlrm", "--attr", "v=[1,2]", "--python", sys.executable),
        *("train.py", "--lr", "0.1"),
    )
    assert done.returncode == 0
    attrs = agent.journal("j", 1).attrs
    assert attrs["family"] == "dlrm" and attrs["v"] == "[1,2]"
    assert attrs["argv"] == "train.py --lr 0.1"
    assert attrs["script"] == "train.py" and attrs["nproc"] == "1"
    assert {"host", "headway"} <= attrs.keys()


def test_quiet_is_quiet(agent):
    assert agent.run("--quiet", "--", "false").stderr.count(b"\n") == 1  # the hook's warning
