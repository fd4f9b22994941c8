"""hw.should_stop(): after a notice all ranks end after the same step, with what they have saved."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from terminal import Terminal

# Ranks wait for each other after each step, as in a collective: whoever stops alone hangs the rest.
TEXT = """
import os, pathlib, sys, time
import headway as hw
rank, ranks = os.environ["RANK"], os.environ["WORLD_SIZE"]
first = int(pathlib.Path("saved-0").read_text()) if os.path.exists("saved-0") else 0
hw.init()
if first:
    hw.restore(first, first)
for step in range(first + 1, 1_000_000):
    pathlib.Path(f"at-{rank}").write_text(str(step))
    while not all(int(pathlib.Path(f"at-{r}").read_text() or 0) >= step for r in range(int(ranks))
                  if os.path.exists(f"at-{r}")):
        time.sleep(0.0005)
    if os.environ.get("FAIL") == rank and step == first + 20:
        os._exit(9)
    if hw.should_stop(step):
        pathlib.Path(f"saved-{rank}").write_text(str(step))
        print("stopped after", step)
        sys.exit(0)
"""


def running(agent, until, *options: str):
    for rank in (0, 1):
        (agent.folder / f"at-{rank}").write_text("0")
    process = agent.start("--python", sys.executable, "--nproc", "2", *options, agent.script(TEXT))
    started = int(
        (agent.folder / "saved-0").read_text() if (agent.folder / "saved-0").exists() else 0
    )
    at = agent.folder / "at-1"
    until(lambda: int(at.read_text() or 0) > started + 5, "steps are made")
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_all_ranks_stop_after_the_same_step(hooked, until, number):
    process = running(hooked, until, "--job", "j")
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    steps = {(hooked.folder / f"saved-{rank}").read_text() for rank in (0, 1)}
    assert len(steps) == 1
    assert process.returncode == 128 + number, "they ended well, but it is not done"
    assert f"all ranks save and end after step {steps.pop()}" in errors.decode()
    report = json.loads(hooked.headway("report", "j", "--json").stdout)
    assert (report["state"], report["l1"]["preemptions"]) == ("stopped", 0)


def test_ctrl_c_lets_a_single_rank_save_too(hooked, until):
    """It shares the agent's terminal, which sends SIGINT to both."""
    (hooked.folder / "at-0").write_text("0")
    terminal = Terminal(hooked, "--job", "j", hooked.script(TEXT))
    until(lambda: int((hooked.folder / "at-0").read_text() or 0) > 5, "steps are made")
    terminal.type(b"\x03")
    assert terminal.wait() == 128 + signal.SIGINT
    assert f"end after step {(hooked.folder / 'saved-0').read_text()}".encode() in terminal.output
    report = json.loads(hooked.headway("report", "j", "--json").stdout)
    assert (report["state"], report["failures"]) == ("stopped", [])


def test_a_signal_to_every_process_does_not_hurt(hooked, until):
    """As Slurm sends it to a step: to the ranks too."""
    process = running(hooked, until)
    for pid in hooked.living():
        os.kill(pid, signal.SIGTERM)
    process.communicate(timeout=30)
    assert len({(hooked.folder / f"saved-{rank}").read_text() for rank in (0, 1)}) == 1


def test_a_failure_does_not_wait_for_ranks_that_ask(hooked):
    """They do not heed SIGTERM, and the grace is long."""
    hooked.environment["FAIL"] = "1"
    for rank in (0, 1):
        (hooked.folder / f"at-{rank}").write_text("0")
    done = hooked.run(
        "--python", sys.executable, "--nproc", "2", "--grace", "1000", hooked.script(TEXT)
    )
    assert done.returncode == 9


def test_a_second_signal_kills(hooked, until):
    text = TEXT.replace("if hw.should_stop(step):", "if hw.should_stop(step) and False:")
    for rank in (0, 1):
        (hooked.folder / f"at-{rank}").write_text("0")
    process = hooked.start("--python", sys.executable, "--nproc", "2", hooked.script(text))
    until(lambda: int((hooked.folder / "at-1").read_text() or 0) > 5, "steps are made")
    process.terminate()
    told = b""
    while b"after step" not in told:  # two signals of a kind that nobody has read yet are one
        told = process.stderr.readline()
        assert told, "it ended"
    high = int((hooked.folder / "at-1").read_text() or 0)
    until(lambda: int((hooked.folder / "at-1").read_text() or 0) > high + 5, "it goes on")
    process.terminate()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGKILL
    assert b": 1 attempt, 1 failure" in errors, "the last line tells, however it ended"
