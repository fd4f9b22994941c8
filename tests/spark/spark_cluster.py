"""A real stand-alone Spark cluster on this machine: one master, two workers, on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pyspark
from free_ports import free_ports

HOME = Path(pyspark.__file__).parent
START_S = 120
HOST = "127.0.0.1"
# Java that lives for a minute is not worth its best compiler.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def environment() -> dict[str, str]:
    """Workers know nothing of Headway: what they need is sent to them."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("HEADWAY")}
    env.pop("PYTHONPATH", None)
    return env | {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        "SPARK_NO_DAEMONIZE": "1",
    }


class Process:
    """One of Spark's own, with its log."""

    def __init__(self, log: Path, *words: str) -> None:
        self.log = log
        with log.open("a") as out:
            self.popen = subprocess.Popen(
                [str(HOME / "bin/spark-class"), *words],
                env=environment(),
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def children(self) -> list[int]:
        """Processes whose parent it is: a worker's executors."""
        path = Path(f"/proc/{self.popen.pid}/task/{self.popen.pid}/children")
        found: list[int] = []
        for task in path.parent.parent.iterdir():
            try:
                found += map(int, (task / "children").read_text().split())
            except OSError:
                continue
        return found

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.popen.poll() is None:
            self.popen.send_signal(number)
            self.popen.wait(timeout=60)


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.page = free_ports(2)
        self.master = Process(
            folder / "master.log",
            *("org.apache.spark.deploy.master.Master", "--host", HOST),
            *("--port", str(self.port), "--webui-port", str(self.page)),
        )
        self._wait_for(0)
        self.workers: list[Process] = []
        self.started = 0
        self.complete()

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def complete(self) -> None:
        """Two workers, whatever became of those before."""
        self.workers = [each for each in self.workers if each.popen.poll() is None]
        while len(self.workers) < 2:
            port, page = free_ports(2)
            name = f"worker-{self.started}"
            self.started += 1
            self.workers.append(
                Process(
                    self.folder / f"{name}.log",
                    *("org.apache.spark.deploy.worker.Worker", "--host", HOST),
                    *("--port", str(port), "--webui-port", str(page), "--cores", "1"),
                    *("--memory", "1g", "--work-dir", str(self.folder / name), self.url),
                )
            )
        self._wait_for(2)

    def _wait_for(self, workers: int) -> None:
        deadline = time.monotonic() + START_S
        while True:
            try:
                with urllib.request.urlopen(f"http://{HOST}:{self.page}/json/", timeout=5) as page:
                    if json.load(page)["aliveworkers"] >= workers:
                        return
            except (OSError, ValueError):
                pass
            assert self.master.popen.poll() is None, self.master.log.read_text()[-2000:]
            assert time.monotonic() < deadline, self.master.log.read_text()[-2000:]
            time.sleep(0.2)

    def kill_worker(self) -> None:
        """kill -9 of a worker and of the executors that it has."""
        victim = self.workers[0]
        executors = victim.children()
        victim.stop(signal.SIGKILL)
        for pid in executors:
            with contextlib.suppress(ProcessLookupError):  # gone with its worker
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        for each in [*self.workers, self.master]:
            each.stop()


def driver_settings() -> list[str]:
    """For `headway fleet`: the driver is here, and one Python serves driver and workers."""
    settings = {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        "spark.ui.enabled": "false",
        "spark.pyspark.python": sys.executable,
        "spark.sql.shuffle.partitions": "2",
    }
    return [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
