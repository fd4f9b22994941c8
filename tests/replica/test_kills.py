"""Trainer, holder and agent are killed at random moments, again and again: what comes back is the
state of one step, bit for bit, and never an older one than was said to be safe.

50 kills in the everyday run, 500 with HEADWAY_TEST_FULL, half of them of each script.
HEADWAY_TEST_SEED repeats the choices.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from replica_machine import HEADWAY, SCRIPTS, Machine, wait_until

KILLS = 250 if os.environ.get("HEADWAY_TEST_FULL") else 25
RANKS = 2


class Diary:
    """What one rank has written, whoever it was at the time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[tuple[int, int, str, int, str]]:
        """(time, process, what, step, where from)"""
        found = []
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            time_ns, pid, what, step, *tier = line.split()
            found.append((int(time_ns), int(pid), what, int(step), tier[0] if tier else ""))
        return found

    def pid(self) -> int:
        lines = self.lines()
        return lines[-1][1] if lines else 0


def check(lines: list[tuple[int, int, str, int, str]], memory_lost_ns: list[int]) -> Counter[str]:
    """What came back is what was safe."""
    tiers: Counter[str] = Counter()
    before = staged = durable = 0
    staged_ns = 0
    for time_ns, _pid, what, step, tier in lines:
        if what == "staged":
            before, staged, staged_ns = staged, step, time_ns
        elif what == "durable":
            durable = max(durable, step)
        else:
            tiers[tier] += 1
            assert step >= durable, f"step {step} came back, {durable} was on disk"
            if not any(staged_ns <= lost <= time_ns for lost in memory_lost_ns):
                # The other rank may have died before it had staged that one.
                assert step >= before, f"step {step} came back, {before} was in memory everywhere"
            before = staged = step
    return tiers


def busy_again(
    diaries: list[Diary], agent: subprocess.Popen[bytes], log: Path, lines: int
) -> Callable[[], bool]:
    """Have all ranks written so many lines since now? The first is that they are back."""
    before = [len(diary.lines()) for diary in diaries]

    def busy() -> bool:
        assert agent.poll() is None, log.read_text()[-3000:]
        return all(len(d.lines()) >= b + lines for d, b in zip(diaries, before, strict=True))

    return busy


# By rows the holder has most to do, and most to leave half done.
@pytest.mark.parametrize(
    "script,victims", [("known_state.py", [6, 3, 1]), ("known_rows.py", [3, 6, 1])]
)
def test_whatever_is_killed(machine: Machine, script: str, victims: list[int]) -> None:
    seed = int(os.environ.get("HEADWAY_TEST_SEED", random.randrange(2**32)))
    print(f"HEADWAY_TEST_SEED={seed}")
    choice = random.Random(seed)
    diaries = [Diary(Path(f"{machine.checkpoints}.diary-{rank}")) for rank in range(RANKS)]
    log = open(machine.tmp / "log", "a")  # noqa: SIM115

    def start() -> subprocess.Popen[bytes]:
        command = [HEADWAY, "run", "--nproc", RANKS, "--job", "j", "--max-restarts", 10_000]
        return subprocess.Popen(
            [*map(str, command), str(SCRIPTS / script)],
            env=machine.env,
            stdout=log,
            stderr=log,
        )

    agent = start()
    killed: Counter[str] = Counter()
    memory_lost_ns: list[int] = []
    for _ in range(KILLS):
        # Now and then before they have saved anything.
        lines = choice.choice([1, 2, 4, 4])
        wait_until(busy_again(diaries, agent, machine.tmp / "log", lines), "both ranks save")
        time.sleep(choice.uniform(0, 0.15) if lines > 1 else choice.uniform(0, 0.02))
        victim = choice.choices(["rank", "holder", "agent"], victims)[0]
        killed[victim] += 1
        if victim == "rank":
            kill(choice.choice(diaries).pid())
        elif victim == "holder":
            # Not the one of an agent that was killed: with both gone nobody clears away for ten
            # minutes (src/replica/abandoned.h).
            for pid in machine.holders_of(agent.pid):
                kill(pid)
        else:
            agent_pid = agent.pid
            wait_until(lambda: machine.holders_of(agent_pid), "the agent has a holder")  # noqa: B023
            # Its holder writes what is in memory, and that is gone then.
            memory_lost_ns.append(time.monotonic_ns())
            agent.kill()
            agent.wait()
            agent = start()
    Path(f"{machine.checkpoints}.end").touch()
    assert agent.wait(timeout=120) == 0, (machine.tmp / "log").read_text()[-3000:]
    tiers: Counter[str] = Counter()
    for diary in diaries:
        tiers += check(diary.lines(), memory_lost_ns)
    print(f"seed {seed}: killed {dict(killed)}, came back from {dict(tiers)}")
    assert "MIXTURE" not in (machine.tmp / "log").read_text()
    assert tiers["replica"] + tiers["replica-copy"] > 0


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # gone by itself
