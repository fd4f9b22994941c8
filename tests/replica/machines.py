"""Several machines on one: each has a folder of its own for what it keeps in memory, and holders of
its own, and may lose both. Ranks are forks of one process that has imported torch for all."""

from __future__ import annotations

import multiprocessing
import os
import re
import runpy
import shutil
import signal
import uuid
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from free_ports import free_ports
from marked_processes import processes_with
from replica_machine import HEADWAY, MARK, PACKAGE, SCRIPTS, WAIT_MAX_S, wait_until

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["numpy", "torch", "torch.distributed.tensor", "torch.utils.data"])


def be_a_rank(env: dict[str, str], log: str) -> None:
    os.environ.clear()
    os.environ.update(env)
    with open(log, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    runpy.run_path(str(SCRIPTS / "train_machines.py"), run_name="__main__")


class Job:
    """The ranks of one attempt, machine after machine."""

    def __init__(self, processes: list[ForkServerProcess], logs: list[Path]) -> None:
        self.processes = processes
        self.logs = logs

    def output(self) -> str:
        return "".join(log.read_text() for log in self.logs)

    def pauses_after(self, step: int) -> None:
        def paused() -> bool:
            assert all(process.is_alive() for process in self.processes), self.output()
            return self.output().count(f"pauses after {step}\n") == len(self.processes)

        wait_until(paused, f"it pauses after {step}")

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()

    def codes(self) -> list[int]:
        for process in self.processes:
            process.join(WAIT_MAX_S)
        return [-1 if process.exitcode is None else process.exitcode for process in self.processes]

    def ends(self) -> dict[int, str]:
        """How each rank ended."""
        assert self.codes() == [0] * len(self.processes), self.output()
        found = re.findall(r"^rank (\d+) end (.*)$", self.output(), re.MULTILINE)
        return {int(rank): end for rank, end in found}

    def origins(self) -> list[tuple[int, str]]:
        """After which step, and from where, each rank went on."""
        found = re.findall(r"^rank \d+ goes on after (\d+) from (.*)$", self.output(), re.MULTILINE)
        assert len(found) == len(self.processes), self.output()
        return [(int(step), tier) for step, tier in found]


class Machines:
    def __init__(self, tmp_path: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.tmp = tmp_path
        self.checkpoints = tmp_path / "checkpoints"
        self._starts = 0
        self._memories: set[Path] = set()
        self._jobs: list[Job] = []

    def memory(self, machine: int) -> Path:
        return Path("/dev/shm") / f"hw-test-{self.mark[:8]}-{machine}"

    def start(self, machines: list[int], local: int = 1, **variables: object) -> Job:
        """So many ranks on each of these machines."""
        self._starts += 1
        shared = {
            **{key: value for key, value in os.environ.items() if not key.startswith("HEADWAY_")},
            MARK: self.mark,
            "HEADWAY_BIN": str(HEADWAY),
            "PYTHONPATH": str(PACKAGE),
            "OMP_NUM_THREADS": "1",
            "FOLDER": str(self.checkpoints),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_ports(1)[0]),
            "WORLD_SIZE": str(len(machines) * local),
            "LOCAL_WORLD_SIZE": str(local),
            **{key: str(value) for key, value in variables.items()},
        }
        processes, logs = [], []
        for index, machine in enumerate(machines):
            self._memories.add(self.memory(machine))
            for local_rank in range(local):
                rank = index * local + local_rank
                env = {
                    **shared,
                    "HEADWAY_REPLICA_DIR": str(self.memory(machine)),
                    "RANK": str(rank),
                    "LOCAL_RANK": str(local_rank),
                }
                logs.append(self.tmp / f"output-{self._starts}-{rank}")
                logs[-1].touch()
                process = FORKS.Process(target=be_a_rank, args=(env, str(logs[-1])), daemon=True)
                process.start()
                processes.append(process)
        self._jobs.append(Job(processes, logs))
        return self._jobs[-1]

    def end_holder(self, machine: int) -> None:
        """Before it writes anything for those that are gone."""
        where = str(self.memory(machine))
        for pid in processes_with("HEADWAY_REPLICA_DIR", where):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not processes_with("HEADWAY_REPLICA_DIR", where), "it is gone")

    def lose(self, machine: int) -> None:
        """Its memory and whoever holds it; its ranks are dead already."""
        self.end_holder(machine)
        shutil.rmtree(self.memory(machine), ignore_errors=True)

    def slots(self, machine: int) -> list[Path]:
        return sorted(self.memory(machine).rglob("rank-*.slot-*"))

    def close(self) -> None:
        for job in self._jobs:
            job.kill()
        for pid in processes_with(MARK, self.mark):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not processes_with(MARK, self.mark), "all processes are gone")
        for memory in self._memories:
            shutil.rmtree(memory, ignore_errors=True)
