"""Real PostgreSQL servers: started, stopped, killed as by a power failure, copied, promoted."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from free_ports import free_ports


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


PROGRAMS = _programs()


def _account() -> dict[str, object]:
    """A server does not run as root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Server:
    """On 127.0.0.1 and a port of its own; everybody on this machine is let in."""

    def __init__(self, *settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="headway-pg-"))
        if os.geteuid() == 0:
            os.chown(self.folder, pwd.getpwnam("postgres").pw_uid, -1)
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        (self.port,) = free_ports(1)
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"postgres://headway@{self.place}/headway"

    def run(self, program: str, *words: str) -> str:
        assert PROGRAMS is not None
        done = subprocess.run(
            [str(PROGRAMS / program), *words],
            cwd="/",
            capture_output=True,
            text=True,
            timeout=300,
            **_account(),  # type: ignore[call-overload]
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def init(self) -> None:
        self.run("initdb", "-D", str(self.data), "-U", "headway", "-A", "trust", "-E", "UTF8")

    def copy_of(self, primary: Server) -> None:
        """A standby of it, which goes by the name `standby`."""
        where = f"host=127.0.0.1 port={primary.port} user=headway"
        self.run(
            "pg_basebackup", "-D", str(self.data), "-d", where, "-R", "-X", "stream", "-c", "fast"
        )
        self.settings += ("cluster_name=standby",)

    def start(self) -> None:
        assert PROGRAMS is not None
        words = [str(PROGRAMS / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        words += ["-h", "127.0.0.1", "-k", str(self.folder)]
        for setting in ("shared_buffers=32MB", "max_connections=60", *self.settings):
            words += ["-c", setting]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                words,
                cwd="/",
                stdout=log,
                stderr=log,
                **_account(),  # type: ignore[call-overload]
            )
        deadline = time.monotonic() + 120
        while not self.answers():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)
        if not self.sql("SELECT 1 FROM pg_database WHERE datname = 'headway'", "postgres"):
            self.sql("CREATE DATABASE headway", "postgres")

    def answers(self) -> bool:
        assert PROGRAMS is not None
        asked = [str(PROGRAMS / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked).returncode == 0

    def sql(self, statement: str, database: str = "headway") -> list[list[str]]:
        where = f"postgres://headway@{self.place}/{database}"
        told = self.run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", "|", "-c", statement, where)
        return [line.split("|") for line in told.splitlines()]

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.wait(timeout=120)
        self.process = None

    def kill(self) -> None:
        """All of its processes at once, as when the machine goes."""
        assert self.process is not None
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        ).stdout.split()
        for pid in (self.process.pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def promote(self) -> None:
        self.run("pg_ctl", "promote", "-w", "-D", str(self.data))

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)
