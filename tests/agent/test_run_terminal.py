"""On a terminal: Ctrl-C, Ctrl-Z, and a single rank that has it for its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from marked_processes import proc_file
from terminal import Terminal

COUNT_INTERRUPTS = """
import os, signal, time
count = 0
def note(*_):
    global count
    count += 1
    open(f"interrupt-{os.environ['RANK']}-{count}", "w").close()
signal.signal(signal.SIGINT, note)
open(f"ready-{os.environ['RANK']}", "w").close()
while True: time.sleep(0.01)
"""


def ready(agent, nproc: int):
    return lambda: all((agent.folder / f"ready-{rank}").exists() for rank in range(nproc))


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_a_single_rank_has_the_terminal(agent):
    text = "import os; print([os.isatty(n) for n in range(3)], input('name? '))"
    terminal = Terminal(agent, "-q", agent.script(text))
    terminal.type(b"ada\n")
    assert terminal.wait() == 0
    assert b"[True, True, True] ada" in terminal.output


@pytest.mark.parametrize("nproc", [1, 2])
def test_ctrl_c_reaches_each_rank_once(agent, until, nproc):
    terminal = Terminal(agent, "--nproc", str(nproc), agent.script(COUNT_INTERRUPTS))
    until(ready(agent, nproc), "the ranks run")
    terminal.type(b"\x03")
    until((agent.folder / "interrupt-0-1").exists, "rank 0 had it")
    until((agent.folder / f"interrupt-{nproc - 1}-1").exists, "the last rank had it")
    terminal.process.send_signal(signal.SIGUSR1)  # ends the ranks; passed on after the interrupt
    assert terminal.wait() == 128 + signal.SIGUSR1
    assert not list(agent.folder.glob("interrupt-*-2"))


def test_ctrl_c_is_a_single_ranks_own_affair(agent, until):
    terminal = Terminal(agent, "--job", "j", agent.script(COUNT_INTERRUPTS))
    until(ready(agent, 1), "the rank runs")
    for count in (1, 2, 3):  # as in a debugger: nothing is passed on, nothing is killed
        terminal.type(b"\x03")
        until((agent.folder / f"interrupt-0-{count}").exists, "the rank had it")
    terminal.process.send_signal(signal.SIGUSR1)
    assert terminal.wait() == 128 + signal.SIGUSR1
    (failure,) = agent.journal("j", 1).named("failure")
    assert failure.origin == "unknown", "it did not end by the interrupt"


def test_ctrl_c_is_the_users_wish(agent, until):
    text = "import time; open('ready-0', 'w').close(); time.sleep(1000)"
    script = agent.script(text)
    terminal = Terminal(agent, "--job", "j", "--max-restarts", "3", script)
    until(ready(agent, 1), "the rank runs")
    terminal.type(b"\x03")
    assert terminal.wait() == 128 + signal.SIGINT
    assert agent.attempts("j") == [1]
    (failure,) = agent.journal("j", 1).named("failure")
    assert failure.origin == "user"


# Not for a single rank: it shares the agent's group, and there the kernel alone does it.
def test_ctrl_z_stops_and_continues_everything(agent, until):
    nproc = 2
    terminal = Terminal(agent, "--nproc", str(nproc), agent.script(COUNT_INTERRUPTS))
    until(ready(agent, nproc), "the ranks run")
    everything = agent.living()
    guard = [p for p in everything if proc_file(p, "comm") == b"headway-guard\n"]
    working = set(everything) - set(guard)
    assert len(working) == 1 + nproc and len(guard) == 1
    terminal.type(b"\x1a")
    until(lambda: all(state_of(pid) == "T" for pid in working), "all are stopped")
    os.killpg(terminal.process.pid, signal.SIGCONT)
    until(lambda: all(state_of(pid) != "T" for pid in working), "all go on")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.wait() == 128 + signal.SIGTERM


def test_a_rank_on_the_terminal_dies_with_the_agent(agent, until):
    no_hangup = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    terminal = Terminal(agent, agent.script(no_hangup + COUNT_INTERRUPTS))
    until(ready(agent, 1), "the rank runs")
    terminal.process.kill()
    assert terminal.wait() == -signal.SIGKILL
    until(lambda: not agent.living(), "the rank is gone too, though no guard may kill our group")
