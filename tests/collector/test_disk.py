"""Disks that are full, pages that are damaged, copies that are made meanwhile."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from collecting import HEADWAY, Collector
from loading import Load, Shape, assert_all_told, local_report, write_journals
from small_disk import SmallDisk

PAGE = 4096


def shape_of(jobs: int, ranks: int, steps: int, step_ms: int = 10) -> Shape:
    made: Shape = {"jobs": jobs, "ranks": ranks, "steps": steps, "step-ms": step_ms}
    return made | {"begin-ns": time.time_ns()}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    made = SmallDisk(tmp_path / "disk", mib=128)
    yield made
    made.remove()


def test_a_disk_that_is_really_full(disk: SmallDisk, tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    collector.store = disk.folder / "store.db"
    collector.start()
    try:
        disk.fill(leave_kib=1200)
        shape = shape_of(jobs=8, ranks=64, steps=200)
        load = Load(collector, shape, "--slots", "64")
        deadline = time.monotonic() + 60
        while "make room on the disk" not in collector.log.read_text():
            assert time.monotonic() < deadline and load.process.poll() is None
            time.sleep(0.05)
        disk.fill()
        time.sleep(1)
        assert collector.get("/healthz") == {"status": "ok"}
        lines = [each for each in collector.log.read_text().splitlines() if "serve: " in each]
        assert len(lines) < 20, lines
        disk.empty()
        told = load.result()
        assert told["later"] > 0, told
        collector.kill()
        collector.start()
        assert_all_told(collector, shape, tmp_path / "journals")
        assert collector.serve("--check").returncode == 0
        disk.fill()  # a copy that does not fit is none
        copy = disk.folder / "copy.db"
        done = collector.serve("--back-up", str(copy))
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        assert not copy.exists()
    finally:
        collector.kill()


def test_a_back_up_under_load(collector: Collector, tmp_path: Path) -> None:
    """Each copy is good, and has of every journal what it had at one moment: a beginning of it."""
    collector.start()
    shape = shape_of(jobs=8, ranks=32, steps=600)
    load = Load(collector, shape, "--slots", "64", "--every-ms", "100")
    copies = []
    while load.process.poll() is None:
        copy = tmp_path / f"copy{len(copies)}.db"
        assert collector.serve("--back-up", str(copy)).returncode == 0
        copies.append(copy)
        time.sleep(0.2)
    load.result()
    assert len(copies) >= 2

    def slots(store: Path) -> dict[bytes, int]:
        with sqlite3.connect(store) as db:
            return dict(db.execute("SELECT id, next_slot FROM journal"))

    before: dict[bytes, int] = {}
    for copy in (copies[0], copies[len(copies) // 2], copies[-1]):
        checked = subprocess.run(
            [HEADWAY, "serve", "--check", "--store", str(copy)], capture_output=True, text=True
        )
        assert checked.returncode == 0, checked.stderr
        now = slots(copy)
        assert all(now.get(journal, 0) >= count for journal, count in before.items())
        before = now
    whole = slots(collector.store)
    assert all(whole[journal] >= count for journal, count in before.items())
    assert 0 < sum(slots(copies[0]).values()) < sum(whole.values())


def leaves(store: Path, name: str) -> list[int]:
    """Pages of a table or an index that hold rows, in the order of its keys."""
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rows = db.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (name,)
        )
        return [row[0] for row in rows]


def spoil(store: Path, page: int, dice: random.Random) -> None:
    with store.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(dice.randbytes(PAGE))


def ship(folder: Path, job: str, url: str) -> subprocess.CompletedProcess[str]:
    words = [HEADWAY, "ship", job, "--to", url, "--dir", str(folder), "--every-host"]
    return subprocess.run(
        words + ["--wait", "1s"], capture_output=True, text=True, timeout=60, env=os.environ
    )


def told(collector: Collector, job: str) -> Any:
    status, _ = collector.ask(f"/api/v1/jobs/{job}/report")
    return collector.get(f"/api/v1/jobs/{job}/report") if status == 200 else status


@pytest.mark.parametrize("what", ["journal", "batch_of_job", "batch"])
def test_a_damaged_page(collector: Collector, tmp_path: Path, what: str) -> None:
    """It costs the jobs whose rows are on it, and they are told so; the others go on."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    collector.start()
    shape = shape_of(jobs=8, ranks=16, steps=300)
    Load(collector, shape, "--slots", "8").result()
    jobs = write_journals(shape, tmp_path / "journals")
    assert collector.stop() == 0
    pages = leaves(collector.store, what)
    assert len(pages) >= 5
    # Not beside the last one, to which rows are added: its neighbours are read when it is full.
    spoil(collector.store, pages[1], dice)
    checked = collector.serve("--check")
    assert checked.returncode == 1 and checked.stderr, checked
    collector.start()
    good, damaged = [], []
    for job in jobs:
        answer = told(collector, job)
        if answer == local_report(tmp_path / "journals", job):
            good.append(job)
        else:  # never a report that is short of something and does not say so
            assert answer == 503 or any(
                "malformed" in str(note) for note in answer["coverage"].values()
            ), (job, answer)
            damaged.append(job)
    assert len(good) >= 4 and damaged, (good, damaged)
    # What senders hear: a job that is sent once more, and new ones.
    sent = {job: ship(tmp_path / "journals", job, collector.url) for job in jobs}
    for job in good:
        assert sent[job].returncode == 0, (job, sent[job].stderr)
    for job in damaged:
        text = sent[job].stderr
        assert (
            sent[job].returncode == 0 or f"what the collector has of job {job} is damaged" in text
        )
    more = shape | {"prefix": "later", "seed": 7, "jobs": 2}
    for job in write_journals(more, tmp_path / "later"):
        sent_too = ship(tmp_path / "later", job, collector.url)
        assert sent_too.returncode == 0, (sent_too.stderr, collector.log.read_text())
        assert told(collector, job) == local_report(tmp_path / "later", job)
    lines = [each for each in collector.log.read_text().splitlines() if "malformed" in each]
    assert len(lines) <= 2 * len(damaged) + 1, lines  # said once, not with every batch


def empty(store: Path, page: int, _: random.Random) -> None:
    """A leaf as it was before its first row: what has been written since never got to the disk."""
    with store.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        kind = file.read(1)
        file.seek((page - 1) * PAGE)
        file.write(kind + bytes([0, 0, 0, 0, PAGE >> 8, 0, 0]))


def add_alerts(store: Path, count: int) -> None:
    document = '{"state":"open","component":"compile_cold","attempts":[],"note":"%s"}' % ("x" * 500)
    with sqlite3.connect(store) as db:
        db.executemany(
            "INSERT INTO alert(tenant, key, document, changed_ns) VALUES('default', ?, ?, 1)",
            [(f"key{i}", document) for i in range(count)],
        )


@pytest.mark.parametrize("how", [spoil, empty])
@pytest.mark.parametrize("what", ["token", "fact", "alert", "job"])
def test_a_damaged_page_that_many_need(
    collector: Collector, what: str, how: Callable[..., None]
) -> None:
    """No collector begins, or it answers what it can: nobody without a token, nothing made up."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    collector.start()
    Load(collector, shape_of(jobs=40, ranks=2, steps=30)).result()
    while collector.get("/api/v1/status")["attempts"] < 40:
        time.sleep(0.05)
    assert collector.stop() == 0
    made = json.loads(collector.serve("token", "add", "--role", "admin", "--json").stdout)
    add_alerts(collector.store, 40)
    how(collector.store, leaves(collector.store, what)[0], random.Random(seed))
    checked = collector.serve("--check")
    assert checked.returncode == 1, checked
    assert f"the table {what} is damaged" in checked.stderr, checked.stderr
    begins = what == "alert" or (how is empty and what != "fact")
    if not begins:
        refused = collector.serve("--listen", "127.0.0.1:0")
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused
        assert "malformed" in refused.stderr and "--check" in refused.stderr, refused.stderr
        return
    collector.start()
    paths = ["/api/v1/jobs/load-0000/report", "/api/v1/regressions", "/api/v1/jobs", "/metrics"]
    for path in paths:
        assert collector.ask(path)[0] == 401, path
    told = [collector.ask(path, made["token"])[0] for path in paths]
    assert told == {
        "token": [401, 401, 401, 401],
        "alert": [200, 503, 200, 200],
        "job": [503, 200, 200, 200],
    }.get(what), told
    assert collector.get("/healthz") == {"status": "ok"}
    assert collector.stop() == 0
