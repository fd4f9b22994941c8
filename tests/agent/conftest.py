"""Runs the built `headway` binary on real processes.

HEADWAY_BIN names the binary (default: build/headway). Every process that a test starts carries a
mark in its environment, and after each test nothing that carries it may be alive.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from marked_processes import processes_with

BUILT = Path(__file__).parents[2] / "build" / "headway"
BINARY = Path(os.environ.get("HEADWAY_BIN", BUILT)).absolute()
HOOK = Path(os.environ.get("HEADWAY_PYTHON", Path(__file__).parents[2] / "build" / "python"))
WAIT_MAX_S = 30.0
HEADER_BYTES = 4096
MARKS = {
    1: "submitted",
    2: "resources_available",
    3: "allocated",
    4: "launcher_start",
    5: "trainer_start",
    6: "preempt_notice",
    7: "failure",
    8: "exit",
    9: "job_end",
}
ORIGINS = ("none", "infra", "preemption", "user", "unknown")
TYPE_MARK, TYPE_ATTR, TYPE_NAME = 1, 9, 10

# A runner in the background (nohup, &) ignores signals, and an ignored signal is inherited:
# `headway run` would rightly go on ignoring it, and these tests wait for its end.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """For what another process does; a bound for a hung test, not a measurement."""
    deadline = time.monotonic() + WAIT_MAX_S
    while not condition():
        assert time.monotonic() < deadline, f"never came true: {what}"
        time.sleep(0.01)


@dataclass
class Mark:
    name: str
    ticks: int
    rank: int
    exit_code: int
    signal: int
    origin: str


@dataclass
class Journal:
    """The little of a journal that these tests look at; docs/formats/journal.md has the rest."""

    marks: list[Mark] = field(default_factory=list)
    attrs: dict[str, str] = field(default_factory=dict)

    def named(self, name: str) -> list[Mark]:
        return [mark for mark in self.marks if mark.name == name]

    @staticmethod
    def read(path: Path) -> Journal:
        data = path.read_bytes()
        assert data[:8] == b"HWJOURN1"
        journal = Journal()
        names: dict[int, bytes] = {}
        attrs: list[tuple[int, int]] = []
        for at in range(HEADER_BYTES, len(data) - 31, 32):
            ticks, a, b, name, _, commit = struct.unpack_from("<QQQHHI", data, at)
            kind = commit & 0xFF
            if kind == TYPE_NAME:
                names[name] = names.get(name, b"") + data[at : at + 24]
            elif kind == TYPE_ATTR:
                attrs.append((name, a))
            elif kind == TYPE_MARK:
                origin = ORIGINS[b & 0xFF]
                mark = Mark(MARKS[name], ticks, b >> 32, a & 0xFFFFFFFF, a >> 32, origin)
                journal.marks.append(mark)
        text = {key: value.rstrip(b"\0").decode() for key, value in names.items()}
        journal.attrs = {text[key]: text[value] for key, value in attrs}
        return journal


class Agent:
    def __init__(self, folder: Path) -> None:
        self.binary = str(BINARY)
        self.folder = folder
        self.jobs = folder / "jobs"
        self.mark = uuid.uuid4().hex
        self.started: list[subprocess.Popen[bytes]] = []
        self.environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(
                ("HEADWAY_", "SLURM_", "PYTHON", "OMP_", "TORCH", "VIRTUAL_ENV", "KUBERNETES_")
            )
        }
        self.environment |= {
            "HEADWAY_CACHE": "off",
            "HEADWAY_DIR": str(self.jobs),
            "HEADWAY_PYTHON_DIR": str(folder / "no-hook"),
            "HEADWAY_TEST_MARK": self.mark,
        }

    def script(self, text: str, name: str = "train.py") -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def start(self, *arguments: str, **extra: object) -> subprocess.Popen[bytes]:
        settings: dict[str, object] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "env": self.environment,
            "cwd": self.folder,
        }
        command = [self.binary, "run", *arguments]
        process = subprocess.Popen(command, **(settings | extra))  # type: ignore[call-overload]
        self.started.append(process)
        return process

    def run(
        self, *arguments: str, stdin: bytes = b"", **extra: object
    ) -> subprocess.CompletedProcess[bytes]:
        process = self.start(*arguments, **({"stdin": subprocess.PIPE} | extra))
        out, err = process.communicate(stdin, timeout=WAIT_MAX_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def headway(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another verb than run."""
        return subprocess.run(
            [self.binary, *arguments],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=WAIT_MAX_S,
        )

    def python(self, text: str, *options: str) -> subprocess.CompletedProcess[bytes]:
        return self.run("--python", sys.executable, *options, self.script(text))

    def journal(self, job: str, attempt: int) -> Journal:
        (path,) = (self.jobs / job / str(attempt)).glob("agent-*.hwj")
        return Journal.read(path)

    def attempts(self, job: str) -> list[int]:
        return sorted(int(path.name) for path in (self.jobs / job).iterdir() if path.is_dir())

    def living(self) -> list[int]:
        """Processes that carry the mark, the binary's own included."""
        return processes_with("HEADWAY_TEST_MARK", self.mark)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is not built; build it or set HEADWAY_BIN")
    made = Agent(tmp_path)
    yield made
    for process in made.started:  # of a test that failed half-way
        if process.poll() is None:
            process.kill()
            process.wait()
    try:
        wait_until(lambda: not made.living(), "all processes are gone")
    finally:
        for pid in made.living():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def hooked(agent: Agent) -> Agent:
    """The agent with the hook."""
    if not (HOOK / "headway").exists():
        pytest.fail(f"{HOOK} is not built; build it or set HEADWAY_PYTHON")
    agent.environment["HEADWAY_PYTHON_DIR"] = str(HOOK)
    return agent


@pytest.fixture
def until() -> Callable[[Callable[[], bool], str], None]:
    return wait_until
