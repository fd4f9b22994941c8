"""What is old is forgotten, and what is said of it then."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from pathlib import Path

from collecting import Collector
from small_jobs import report, run_small, without_paths

DAY_NS = 86_400_000_000_000


def age(collector: Collector, job: str, days: int) -> None:
    """As if it had been heard of so long ago. The collector is stopped."""
    with sqlite3.connect(collector.store) as db:
        by = days * DAY_NS
        changed = db.execute(
            "UPDATE job SET first_ns = first_ns - ?, heard_ns = heard_ns - ? WHERE name = ?",
            (by, by, job),
        )
        assert changed.rowcount == 1


def metric(collector: Collector, name: str) -> int:
    text = collector.ask("/metrics")[1]
    (line,) = [each for each in text.splitlines() if each.startswith(f"{name}_total ")]
    return int(line.split()[1])


def fleet_jobs(collector: Collector) -> set[str]:
    return {row["job"] for row in collector.get("/api/v1/jobs")["jobs"]}


def wait_for(what: str, collector: Collector, count: int) -> None:
    deadline = time.monotonic() + 60
    while metric(collector, what) < count:
        assert time.monotonic() < deadline, collector.log.read_text()
        time.sleep(0.1)


def test_what_is_old_goes_and_what_runs_stays(collector: Collector, tmp_path: Path) -> None:
    collector.start()
    for job in ("ancient", "old", "young"):
        run_small(tmp_path, job, collector.url)
    deadline = time.monotonic() + 60
    while fleet_jobs(collector) != {"ancient", "old", "young"}:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert collector.stop() == 0
    age(collector, "ancient", 800)
    age(collector, "old", 100)
    collector.start("--keep-raw", "90d", "--keep-facts", "730d")
    wait_for("headway_collector_forgotten_jobs", collector, 2)
    wait_for("headway_collector_forgotten_facts", collector, 1)
    assert "records of 2 old jobs are forgotten" in collector.log.read_text()
    # Its records are gone, plainly; what it came to stays on the fleet's page.
    for place in ("report", "timeline", "advice"):
        status, text = collector.ask(f"/api/v1/jobs/old/{place}")
        assert status == 404 and "the records of job old were forgotten" in text, text
    assert collector.ask("/api/v1/jobs/never/report")[1] == '{"error":"there is no job never"}\n'
    assert fleet_jobs(collector) == {"old", "young"}
    rows = {row["job"]: row["wall_ns"] for row in collector.get("/api/v1/jobs")["jobs"]}
    assert rows == {job: report(tmp_path, job)["wall_ns"] for job in ("old", "young")}
    told = without_paths(collector.get("/api/v1/jobs/young/report"))
    assert told == report(tmp_path, "young")
    assert collector.serve("--check").returncode == 0
    # What is sent again is taken from its beginning.
    run_small(tmp_path, "old", collector.url)
    told = without_paths(collector.get("/api/v1/jobs/old/report"))
    assert told == report(tmp_path, "old")


def test_how_long_is_checked(collector: Collector) -> None:
    def fails(*words: str) -> str:
        done = collector.serve("--listen", "127.0.0.1:0", *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        return done.stderr

    assert "--keep-raw 5m: want seconds from 3600" in fails("--keep-raw", "5m")
    assert "shorter than --keep-raw" in fails("--keep-raw", "90d", "--keep-facts", "30d")
    assert "shorter than --keep-raw" in fails("--keep-facts", "30d")


def test_a_store_that_is_not_there_is_not_made(collector: Collector, tmp_path: Path) -> None:
    """A slip of the pen in --store is no good store, and no back-up of one."""
    copy = tmp_path / "copy.db"
    for words in (["--check"], ["--back-up", str(copy)], ["token", "ls"]):
        done = collector.serve(*words)
        assert done.returncode == 2, (words, done)
        assert f"{collector.store}: there is no store" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not collector.store.exists() and not copy.exists()
    collector.store.write_bytes(b"")
    assert "holds no store of Headway" in collector.serve("--check").stderr
    assert subprocess.run(["ls", tmp_path], capture_output=True, text=True).stdout == "store.db\n"
