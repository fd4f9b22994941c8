"""A real Slurm on this machine: munged, slurmctld and three slurmds, in a folder and on ports of
its own. All are children of the test run; what they start carries a mark by which it is found. The
nodes' names lead to this machine inside the slurmds' own mount namespace only."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from free_ports import free_ports
from marked_processes import processes_with

HERE = Path(__file__).parent
DEPLOY = HERE.parents[1] / "deploy" / "slurm"
NODES = ("n1", "n2", "n3")
WAIT_MAX_S = 120.0
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "scancel", "squeue", "srun")
OVER = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "PREEMPTED", "NODE_FAIL", "OUT_OF_MEMORY"}


def missing_programs() -> list[str]:
    places = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=places) is None]


def wait_until(condition: Callable[[], bool], what: str, limit_s: float = WAIT_MAX_S) -> None:
    """For what another process does; a bound for a hung test, not a measurement."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"never came true: {what}")
        time.sleep(0.1)


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.nodes_have_names = os.geteuid() == 0  # only root may mount
        keep = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("SLURM_", "SBATCH_", "HEADWAY_", "PYTHON"))
        }
        self.environment = keep | {
            "PATH": keep["PATH"] + ":/usr/sbin:/sbin",
            "SLURM_CONF": str(folder / "slurm.conf"),
            "HEADWAY_TEST_SLURM": self.mark,
        }

    def start(self) -> None:
        for name in ("state", "shm", "facts"):
            (self.folder / name).mkdir()
        # The real ones, on a folder of ours: /dev/shm is everybody's.
        for name in ("prolog", "epilog"):
            wrapper = self.folder / name
            wrapper.write_text(
                f"#!/bin/sh\nexport HEADWAY_SHM_DIR={self.folder}/shm"
                f" HEADWAY_FACTS_DIR={self.folder}/facts\nexec {DEPLOY}/{name}.sh\n"
            )
            wrapper.chmod(0o755)
        (self.folder / "hosts").write_text("127.0.0.1 localhost n1 n2 n3\n")
        controller, *nodes = free_ports(1 + len(NODES))
        text = (HERE / "slurm.conf.in").read_text()
        for name, value in {
            "BASE": self.folder,
            "HOST": socket.gethostname(),
            "USER": getpass.getuser(),
            "PORT_CONTROLLER": controller,
            **{f"PORT_NODE_{i}": port for i, port in enumerate(nodes, 1)},
        }.items():
            text = text.replace(f"@{name}@", str(value))
        (self.folder / "slurm.conf").write_text(text)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        files = {"key-file": "munge.key", "socket": "munge.sock", "log-file": "munged.log"}
        files |= {"pid-file": "munged.pid", "seed-file": "munge.seed"}
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._daemon("munged", "--foreground", "--force", "--num-threads=2", *options)
        wait_until((self.folder / "munge.sock").exists, "munged listens")
        self._daemon("slurmctld", "-D", "-c")
        for node in NODES:
            command = 'mount --bind "$0" /etc/hosts && exec slurmd -D -N "$1"'
            hosts = str(self.folder / "hosts")
            if self.nodes_have_names:
                self._daemon("unshare", "-m", "sh", "-c", command, hosts, node)
            else:
                self._daemon("slurmd", "-D", "-N", node)
        wait_until(lambda: self.idle_nodes() == set(NODES), "the nodes are idle")

    def idle_nodes(self) -> set[str]:
        return set(self.ask("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split())

    def _daemon(self, *command: str) -> None:
        with (self.folder / f"{command[0]}-{command[-1][-6:]}.out").open("wb") as out:
            self.daemons.append(
                subprocess.Popen(
                    command,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                )
            )

    def stop(self) -> None:
        self.ask("scancel", "--state=pending", f"--user={getpass.getuser()}")
        self.ask("scancel", f"--user={getpass.getuser()}")
        try:
            wait_until(lambda: not self.ask("squeue", "-h"), "all jobs are gone", 60)
        finally:
            for daemon in reversed(self.daemons):
                daemon.terminate()
            for daemon in reversed(self.daemons):
                try:
                    daemon.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()
            left = self.living()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        assert not left, f"still alive after the cluster's end: {left}"

    def living(self) -> list[int]:
        return processes_with("HEADWAY_TEST_SLURM", self.mark)

    def ask(self, *command: str) -> str:
        """What it prints; nothing when it fails or takes too long."""
        try:
            done = subprocess.run(
                command, env=self.environment, capture_output=True, text=True, timeout=20
            )
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout if done.returncode == 0 else ""

    def submit(self, script: str, *options: str, name: str = "job") -> Job:
        path = self.folder / f"{name}-{uuid.uuid4().hex[:6]}.sbatch"
        path.write_text("#!/bin/bash\n" + script)
        output = path.with_suffix(".out")
        done = subprocess.run(
            ["sbatch", "--parsable", "--cpus-per-task=2", "--open-mode=append"]
            + [f"--output={output}", *options, str(path)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr
        return Job(self, done.stdout.strip(), output)

    def preempt(self, seconds: float = 1, partition: str = "high", nodes: int = 1) -> Job:
        """A job that needs whole nodes and may take them from others."""
        options = (f"--partition={partition}", f"--nodes={nodes}", "--ntasks-per-node=1")
        return self.submit(f"sleep {seconds}\n", *options, name="urgent")


class Job:
    def __init__(self, cluster: Cluster, number: str, output: Path) -> None:
        self.cluster = cluster
        self.number = number
        self.output = output

    def show(self) -> dict[str, str]:
        text = self.cluster.ask("scontrol", "show", "job", "-o", self.number)
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    @property
    def state(self) -> str:
        return self.show().get("JobState", "")

    def printed(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        try:
            wait_until(condition, what)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.show()}\n{self.printed()}") from None

    def wait_printed(self, text: str) -> None:
        self.wait(lambda: text in self.printed() or self.state in OVER, f"it prints {text!r}")
        assert text in self.printed(), self.printed()

    def wait_over(self) -> str:
        self.wait(lambda: self.state in OVER, "it is over")
        return self.state

    def wait_requeued(self) -> None:
        self.wait(lambda: self.show().get("Restarts") == "1" or self.state in OVER, "a requeue")
        assert self.show()["Restarts"] == "1", f"{self.show()}\n{self.printed()}"
