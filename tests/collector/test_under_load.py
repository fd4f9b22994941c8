"""A collector that is killed, cut off, out of room or besieged while a fleet reports to it."""

from __future__ import annotations

import json
import os
import random
import resource
import selectors
import socket
import subprocess
import time
from pathlib import Path

import pytest
from collecting import Collector
from loading import Load, Shape, assert_all_told, local_report, memory_mib, write_journals

FULL = bool(os.environ.get("HEADWAY_TEST_FULL"))


def shape_of(jobs: int, ranks: int, steps: int, step_ms: int) -> Shape:
    begin_ns = time.time_ns()
    made: Shape = {"jobs": jobs, "ranks": ranks, "steps": steps, "step-ms": step_ms}
    return made | {"begin-ns": begin_ns}


def test_killed_under_load(collector: Collector, tmp_path: Path) -> None:
    """128 machines that report ten times a second, and a collector that dies again and again."""
    kills = 100 if FULL else 10
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    collector.start()
    shape = shape_of(jobs=16, ranks=64, steps=12 * kills, step_ms=100)
    load = Load(collector, shape, "--every-ms", "100")
    for _ in range(kills):
        time.sleep(draw.uniform(0.05, 1.0))
        collector.kill()
        collector.start()
    told = load.result()
    assert told["failures"] > 0, told  # it was noticed
    collector.kill()
    collector.start()
    assert_all_told(collector, shape, tmp_path / "journals")
    assert collector.serve("--check").returncode == 0
    assert memory_mib(collector) < 1024


def test_a_full_disk(collector: Collector, tmp_path: Path) -> None:
    """Senders are told to come later, what was acknowledged stays, and all goes on with room."""
    collector.start()
    assert collector.process is not None
    pid = collector.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (3 << 20, hard))
    shape = shape_of(jobs=8, ranks=64, steps=400, step_ms=10)
    load = Load(collector, shape, "--slots", "64")
    deadline = time.monotonic() + 60
    while "disk" not in collector.log.read_text():
        assert time.monotonic() < deadline and load.process.poll() is None
        time.sleep(0.05)
    time.sleep(1)  # senders come back, and are told the same
    assert collector.get("/healthz") == {"status": "ok"}
    assert collector.get("/api/v1/jobs")["jobs"]
    # What went wrong is said when it begins, not for every batch.
    lines = [line for line in collector.log.read_text().splitlines() if "headway serve: " in line]
    assert len(lines) < 20, lines
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    told = load.result()
    assert told["later"] > 0, told
    assert "takes batches again" in collector.log.read_text()
    collector.kill()
    collector.start()
    assert_all_told(collector, shape, tmp_path / "journals")


def test_ten_thousand_connections(collector: Collector, tmp_path: Path) -> None:
    """All open at once, all answered, and a fleet goes on reporting meanwhile."""
    count = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 1000:
        pytest.skip(f"this system lets a process have {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    collector.start()
    shape = shape_of(jobs=4, ranks=16, steps=100, step_ms=100)
    load = Load(collector, shape, "--every-ms", "100")
    sockets: list[socket.socket] = []
    try:
        for _ in range(count):
            sockets.append(socket.create_connection(("127.0.0.1", collector.port), timeout=60))
            # Half of a request: the connection is in use, and nobody can answer it yet.
            sockets[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        assert collector.get("/healthz") == {"status": "ok"}
        for each in sockets:
            each.sendall(b"Connection: close\r\n\r\n")
        assert answers(sockets) == {b"HTTP/1.1 200 OK": count}
        assert memory_mib(collector) < 1024
    finally:
        for each in sockets:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    load.result()
    assert_all_told(collector, shape, tmp_path / "journals")


def answers(sockets: list[socket.socket]) -> dict[bytes, int]:
    """The first lines that came back, and how many of each; b"": none."""
    found: dict[bytes, int] = {}
    with selectors.DefaultSelector() as selector:
        for each in sockets:
            selector.register(each, selectors.EVENT_READ)
        left = len(sockets)
        while left:
            ready = selector.select(timeout=60)
            assert ready, f"{left} of {len(sockets)} were not answered: {found}"
            for key, _ in ready:
                assert isinstance(key.fileobj, socket.socket)
                try:
                    line = key.fileobj.recv(4096).split(b"\r\n")[0]
                except ConnectionResetError:
                    line = b""
                found[line] = found.get(line, 0) + 1
                selector.unregister(key.fileobj)
                left -= 1
    return found


def test_a_clock_that_jumps(collector: Collector, tmp_path: Path) -> None:
    """A day back and two forth, while ranks report: nothing is lost, and nothing told twice."""
    library = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not library:
        pytest.skip("no libfaketime here: apt-get install libfaketime")
    clock = tmp_path / "clock"
    clock.write_text("+0d\n")
    fake = {
        "LD_PRELOAD": str(library[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    collector.start(environment=fake)
    shape = shape_of(jobs=4, ranks=32, steps=60, step_ms=100)
    load = Load(collector, shape, "--every-ms", "100")
    for jump in ("-1d", "+1d", "+0d"):
        time.sleep(1)
        clock.write_text(jump + "\n")
    load.result()
    assert_all_told(collector, shape, tmp_path / "journals")
    # And the fleet's account goes on, though a job was last told on a day that has not come.
    wanted = {
        job: local_report(tmp_path / "journals", job)["wall_ns"]
        for job in write_journals(shape, tmp_path / "journals")
    }
    deadline = time.monotonic() + 60
    while True:
        jobs = collector.get("/api/v1/jobs")["jobs"]
        told = {row["job"]: row["wall_ns"] for row in jobs if row["state"] == "finished"}
        if told == wanted:
            break
        assert time.monotonic() < deadline, (told, wanted, jobs)
        time.sleep(0.1)
    # A sender's clock, and that of the ranks: the reports are of their times, whatever they are.
    for seconds in (1, 4_000_000_000):
        odd = shape_of(jobs=1, ranks=8, steps=40, step_ms=100)
        odd |= {"begin-ns": seconds * 10**9, "prefix": f"odd{seconds}"}
        Load(collector, odd).result()
        assert_all_told(collector, odd, tmp_path / f"journals{seconds}")


def test_a_damaged_page(collector: Collector, tmp_path: Path) -> None:
    """One job is told no more; the others are, and `--check` says what is wrong."""
    collector.start()
    shape = shape_of(jobs=3, ranks=16, steps=400, step_ms=10)
    Load(collector, shape, "--slots", "2000").result()
    assert_all_told(collector, shape, tmp_path / "journals")
    assert collector.stop() == 0
    page_bytes = 4096
    store = bytearray(collector.store.read_bytes())
    # A page that holds the middle of one of its batches: it begins with the next one's number,
    # where a page of a tree has its kind.
    pages = [at for at in range(0, len(store), page_bytes) if store[at] == 0]
    at = next(at for at in pages if b"load-0001" in store[at : at + page_bytes])
    store[at : at + page_bytes] = b"\xa5" * page_bytes
    collector.store.write_bytes(store)
    checked = collector.serve("--check")
    assert checked.returncode == 1 and checked.stderr.strip(), checked
    assert all(line.startswith("headway: ") for line in checked.stderr.splitlines()), checked
    collector.start()
    told = {
        job: collector.ask(f"/api/v1/jobs/{job}/report")
        for job in ("load-0000", "load-0001", "load-0002")
    }
    status, body = told.pop("load-0001")
    assert status >= 500 and list(json.loads(body)) == ["error"] and body.count("\n") == 1, body
    for job, (status, body) in told.items():
        assert status == 200 and json.loads(body) == local_report(tmp_path / "journals", job)
    assert collector.get("/healthz") == {"status": "ok"}
    fresh = shape_of(jobs=1, ranks=8, steps=40, step_ms=100) | {"prefix": "later"}
    Load(collector, fresh).result()
    assert_all_told(collector, fresh, tmp_path / "later")


def test_a_damaged_root_is_one_line(collector: Collector) -> None:
    collector.start()
    Load(collector, shape_of(jobs=1, ranks=8, steps=40, step_ms=10)).result()
    assert collector.stop() == 0
    store = bytearray(collector.store.read_bytes())
    store[100:4096] = b"\xa5" * 3996  # the page that says what there is
    collector.store.write_bytes(store)
    for words in (["--check"], ["--listen", "127.0.0.1:0"]):
        done: subprocess.CompletedProcess[str] = collector.serve(*words)
        assert done.returncode in (1, 2), done
        assert done.stderr.count("\n") == 1 and "--check" in done.stderr, done.stderr
