"""Hosts made of network namespaces, a bridge between them, and `headway run` on each of them.

Every network has names of its own, so that runs beside each other do not meet, and is taken down
with everything that runs in it. Where the kernel forbids namespaces the tests are skipped, and say
so.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from marked_processes import proc_file, processes_with

ROOT = Path(__file__).parents[2]
BINARY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build" / "headway")).absolute()
WAIT_MAX_S = 300.0
PORT = 29400

for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:  # inherited, the agents would ignore it too
        signal.signal(number, signal.SIG_DFL)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """For what another process does; a bound for a hung test, not a measurement."""
    deadline = time.monotonic() + WAIT_MAX_S
    while not condition():
        assert time.monotonic() < deadline, f"never came true: {what}"
        time.sleep(0.02)


def answer(verb: str, jobs: Path) -> dict[str, Any]:
    """What `headway report` or `headway why` says of the job in that folder."""
    command = [BINARY, verb, "j", "--json", "--dir", jobs]
    done = subprocess.run(command, check=True, capture_output=True)
    return json.loads(done.stdout)


def why_no_namespaces() -> str:
    if shutil.which("ip") is None:
        return "no ip command (iproute2)"
    name = f"hw{uuid.uuid4().hex[:6]}"
    try:
        ip("netns", "add", name)
        ip("link", "add", name, "type", "bridge")
    except subprocess.CalledProcessError as error:
        return (error.stderr or "ip failed").strip()
    finally:
        for what in (["link", "del", name], ["netns", "del", name]):
            subprocess.run(["ip", *what], capture_output=True)
    return ""


@dataclass
class Line:
    """Of a rank's diary: who, in which generation, where, and when it was alive."""

    time_ns: int
    host: str
    attempt: int
    rank: int
    world: int
    node: int
    what: str


@dataclass
class Host:
    network: Network
    name: str
    space: str
    address: str
    agents: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def agent(self) -> subprocess.Popen[bytes]:
        return self.agents[-1]

    @property
    def folder(self) -> Path:
        return self.network.folder / self.name

    @property
    def jobs(self) -> Path:
        return self.folder / "jobs"

    def start(
        self, *arguments: str, meet: str | None = None, **variables: str
    ) -> subprocess.Popen[bytes]:
        """`meet`: where, if not at the first host; "": as the environment says."""
        self.folder.mkdir(exist_ok=True)
        log = open(self.folder / f"log-{len(self.agents)}", "wb")  # noqa: SIM115
        environment = self.network.environment | {
            "HEADWAY_CACHE": "off",
            "HEADWAY_DIR": str(self.jobs),
            "DIARY": str(self.network.folder / "diary"),
            "HOST": self.name,
        }
        command = ["ip", "netns", "exec", self.space, str(BINARY), "run", "--node-name", self.name]
        if meet != "":
            command += ["--rdzv", meet or f"{self.network.hosts[0].address}:{PORT}", "--job", "j"]
        command += ["--python", sys.executable, "--lease", "1.5", *arguments]
        process = subprocess.Popen(
            command,
            env=environment | variables,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        log.close()
        self.agents.append(process)
        return process

    def wait(self) -> int:
        try:
            return self.agent.wait(WAIT_MAX_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{self.name} does not end:\n{self.network.logs()}")

    def cable(self, up: bool) -> None:
        ip("link", "set", f"{self.space}b", "up" if up else "down")

    def ranks(self) -> list[int]:
        """Living processes that are ranks of this host's."""
        wanted = f"HOST={self.name}".encode()
        found = []
        for pid in self.network.living():
            variables = proc_file(pid, "environ").split(b"\0")
            names = {variable.split(b"=")[0] for variable in variables}
            if wanted in variables and b"HEADWAY_RANK_PID" in names and b"RANK" in names:
                found.append(pid)
        return found

    def attempts(self) -> list[int]:
        folder = self.jobs / "j"
        return sorted(int(p.name) for p in folder.iterdir() if p.name.isdecimal())


class Network:
    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.bridge = f"hw{self.mark[:6]}"
        self.hosts: list[Host] = []
        self.environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("HEADWAY_", "SLURM_", "OMP_", "TORCH", "KUBERNETES_", "GLOO_"))
        } | {"HEADWAY_TEST_MARK": self.mark, "GLOO_SOCKET_IFNAME": "eth0"}
        if python := os.environ.get("HEADWAY_PYTHON"):
            self.environment["HEADWAY_PYTHON_DIR"] = python
        self.count = count

    def up(self) -> None:
        ip("link", "add", self.bridge, "type", "bridge")
        ip("link", "set", self.bridge, "up")
        for number in range(1, self.count + 1):
            name = chr(ord("a") + number - 1)
            space = f"{self.bridge}{name}"
            # The bridge has no address: only the hosts see each other, whatever else uses 10.77.
            host = Host(self, name, space, f"10.77.0.{number}")
            ip("netns", "add", space)
            self.hosts.append(host)
            ip("link", "add", f"{space}b", "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", f"{space}b", "master", self.bridge, "up")
            ip("-n", space, "addr", "add", f"{host.address}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")

    def down(self) -> None:
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host.space], capture_output=True)
            subprocess.run(["ip", "link", "del", f"{host.space}b"], capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True)

    def living(self) -> list[int]:
        return processes_with("HEADWAY_TEST_MARK", self.mark)

    def script(self, text: str, name: str = "train.py") -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def diary(self) -> list[Line]:
        path = self.folder / "diary"
        if not path.exists():
            return []
        lines = []
        for text in path.read_text().splitlines():
            t, host, attempt, rank, world, node, what = text.split()
            lines.append(Line(int(t), host, int(attempt), int(rank), int(world), int(node), what))
        return sorted(lines, key=lambda line: line.time_ns)

    def log(self, host: Host) -> str:
        paths = sorted(host.folder.glob("log-*"), key=lambda p: int(p.name[4:]))
        return "".join(path.read_text(errors="replace") for path in paths)

    def logs(self) -> str:
        return "".join(f"--- {host.name}\n{self.log(host)}" for host in self.hosts)

    def check_one_generation_at_a_time(self) -> None:
        """Diaries are written with one clock: namespaces are of one machine."""
        lines = self.diary()
        last = {}
        for line in lines:
            last[line.attempt] = line.time_ns
        first: dict[int, int] = {}
        for line in lines:
            first.setdefault(line.attempt, line.time_ns)
        order = sorted(first)
        for before, after in pairwise(order):
            assert last[before] < first[after], f"{before} still ran when {after} began"
