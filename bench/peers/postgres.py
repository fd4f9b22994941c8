"""A PostgreSQL server of one's own, in a folder that goes away: as it is installed, fsync on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

COLUMNS = (
    "job int4, attempt int4, rank int4, slot int8, t_ns int8, type int2, name int2, lane int2, "
    "a int8, b int8"
)


def programs() -> Path | None:
    """Where the newest server's programs are; None: there is none here."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[4])
    return found[-1].parent if found else None


class Postgres:
    def __init__(self) -> None:
        bin_folder = programs()
        assert bin_folder is not None, "no PostgreSQL server here: apt-get install postgresql"
        self.bin = bin_folder
        self.folder = Path(tempfile.mkdtemp(prefix="hw-postgres-"))
        # It refuses to run as root.
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        self.run("initdb", "-D", str(self.data), "-A", "trust", "-U", "postgres")
        options = f"-k {self.folder} -c listen_addresses='' -c max_wal_size=8GB"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-o", options, "-l", self.log, "start")
        self.sql(f"CREATE TABLE event({COLUMNS})")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> str:
        return str(self.folder / "log")

    def run(self, program: str, *words: str) -> None:
        subprocess.run(
            [self.bin / program, *words],
            check=True,
            user=self.user,
            cwd="/",
            stdout=subprocess.DEVNULL,
        )

    def psql(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.bin / "psql", "-h", str(self.folder), "-U", "postgres", "-qAtc", command],
            stdout=subprocess.PIPE,
            text=True,
        )

    def sql(self, command: str) -> str:
        asked = self.psql(command)
        output, _ = asked.communicate()
        assert asked.returncode == 0, command
        return output.strip()

    def database_url(self, name: str) -> str:
        """Of a new database, as `headway serve --store` wants it."""
        self.sql(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        return f"postgres:///{name}?host={self.folder}&user=postgres"

    def copy_s(self, files: list[Path]) -> float:
        """All files at once, each by a session of its own, until the last commit."""
        begin = time.monotonic()
        sessions = [self.psql(f"\\copy event FROM '{path}' WITH (FORMAT binary)") for path in files]
        codes = [session.wait() for session in sessions]
        assert codes == [0] * len(files), codes
        return time.monotonic() - begin

    def empty(self) -> None:
        self.sql("TRUNCATE event")
        self.sql("CHECKPOINT")

    def close(self) -> None:
        try:
            self.run("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
