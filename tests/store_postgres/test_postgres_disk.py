"""A PostgreSQL server whose disk is full."""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from pathlib import Path

from collecting import Collector
from loading import Load, Shape, assert_all_told
from postgres_servers import Server
from small_disk import SmallDisk


def test_a_full_disk(tmp_path: Path) -> None:
    """It may give up altogether then; what it had acknowledged it has when there is room."""
    server = Server("min_wal_size=32MB", "max_wal_size=48MB")
    disk = SmallDisk(server.folder, mib=160)
    collector = Collector(tmp_path)
    try:
        if os.geteuid() == 0:
            os.chown(server.folder, pwd.getpwnam("postgres").pw_uid, -1)
        subprocess.run(["chmod", "700", server.folder], check=True)
        server.init()
        server.start()
        collector.store = server.url  # type: ignore[assignment]
        collector.start()
        shape: Shape = {"jobs": 8, "ranks": 64, "steps": 400, "step-ms": 10}
        shape |= {"begin-ns": time.time_ns()}
        disk.fill(leave_kib=2048)
        load = Load(collector, shape, "--slots", "64")
        deadline = time.monotonic() + 120
        while "No space left" not in server.log.read_text():
            assert time.monotonic() < deadline and load.process.poll() is None
            time.sleep(0.05)
        disk.fill()
        time.sleep(1)
        assert collector.get("/healthz") == {"status": "ok"}
        disk.empty()
        assert server.process is not None
        time.sleep(1)
        if server.process.poll() is not None:
            server.process = None
            server.start()
        told = load.result()
        assert told["later"] > 0, told
        assert_all_told(collector, shape, tmp_path / "journals")
        assert collector.serve("--check").returncode == 0
    finally:
        if collector.process is not None:
            collector.kill()
        server.stop()
        disk.remove()
        server.remove()
