"""Trains for real with hw.checkpointer, alone, under torchrun's environment or under the agent.

HEADWAY_BIN and HEADWAY_PYTHON name what was built. Every test has its own shared memory; nothing of
it and no process may be left behind.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import warm_python
from marked_processes import parent_of, processes_with

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway")).absolute()
PACKAGE = Path(os.environ.get("HEADWAY_PYTHON", ROOT / "build/python")).absolute()
LAZY_COMPILER = ROOT / "tests/shared/lazy_compiler"
SCRIPTS = Path(__file__).parent / "scripts"
MARK = "HEADWAY_TEST_MARK"
WAIT_MAX_S = 300.0

sys.path.insert(0, str(PACKAGE))


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """For what another process does; a bound for a hung test, not a measurement."""
    deadline = time.monotonic() + WAIT_MAX_S
    while not condition():
        assert time.monotonic() < deadline, f"never came true: {what}"
        time.sleep(0.01)


def end_of(output: str) -> str:
    """How rank 0's training ended."""
    found = re.findall(r"^(?:\[\d+\] )?rank 0 end (.*)$", output, re.MULTILINE)
    assert len(found) == 1, output
    return found[0]


class Machine:
    """Environment, shared memory and processes of one test."""

    def __init__(self, tmp_path: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.tmp = tmp_path
        self.checkpoints = tmp_path / "checkpoints"
        self.jobs = tmp_path / "jobs"
        self.memory = Path("/dev/shm") / f"hw-test-{self.mark[:8]}"
        self.env = {
            **os.environ,
            MARK: self.mark,
            "HEADWAY_BIN": str(HEADWAY),
            "HEADWAY_CACHE": "off",
            "HEADWAY_DIR": str(self.jobs),
            "HEADWAY_REPLICA_DIR": str(self.memory),
            "PYTHONPATH": str(PACKAGE),
            "OMP_NUM_THREADS": "1",
            "FOLDER": str(self.checkpoints),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        for name in ("RANK", "WORLD_SIZE", "HEADWAY_REPLICA", "HEADWAY_JOB"):
            self.env.pop(name, None)

    def run(self, script: str, code: int | None = 0, **variables: object) -> str:
        """A script of scripts/ in a process of its own; what it printed."""
        env = {**self.env, "PYTHONPATH": f"{self.env['PYTHONPATH']}:{LAZY_COMPILER}"}
        env |= {key: str(value) for key, value in variables.items()}
        done = warm_python.run([str(SCRIPTS / script)], env, timeout_s=120)
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def headway(self, *arguments: object, code: int | None = 0, **variables: object) -> str:
        done = subprocess.run(
            [str(HEADWAY), *map(str, arguments)],
            env={**self.env, **{key: str(value) for key, value in variables.items()}},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def holders(self) -> list[int]:
        found = []
        for pid in processes_with(MARK, self.mark):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"hold" in words:
                found.append(pid)
        return found

    def holders_of(self, agent: int) -> list[int]:
        return [pid for pid in self.holders() if parent_of(pid) == agent]

    def end_holders(self, number: int = signal.SIGTERM) -> None:
        for pid in self.holders():
            os.kill(pid, number)
        wait_until(lambda: not self.holders(), "holders are gone")

    def steps(self) -> list[int]:
        """On disk."""
        return sorted(int(path.name.split("-")[1]) for path in self.checkpoints.glob("step-*"))

    def close(self) -> None:
        self.end_holders()
        left = processes_with(MARK, self.mark)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        memory = [str(path) for path in self.memory.rglob("*") if not path.is_dir()]
        shutil.rmtree(self.memory, ignore_errors=True)
        assert not left, f"processes were left behind: {left}"
        assert not memory, f"memory was left behind: {memory}"


class Running:
    """`headway run` in the background."""

    def __init__(
        self,
        machine: Machine,
        *arguments: object,
        binary: Path = HEADWAY,
        **variables: object,
    ) -> None:
        self.log = machine.tmp / "output"
        with open(self.log, "a") as file:
            self.process = subprocess.Popen(
                [str(binary), "run", *map(str, arguments)],
                env={**machine.env, **{key: str(value) for key, value in variables.items()}},
                stdout=file,
                stderr=file,
            )

    def wait_for(self, text: str) -> None:
        wait_until(lambda: text in self.log.read_text(), text)
