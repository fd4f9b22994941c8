"""Two collectors that forget what is old in the database that they share."""

from __future__ import annotations

import time
from pathlib import Path

from collecting import Collector
from postgres_servers import Server
from small_jobs import report, run_small, without_paths

DAY_NS = 86_400_000_000_000


def fleet_jobs(collector: Collector) -> set[str]:
    return {row["job"] for row in collector.get("/api/v1/jobs")["jobs"]}


def metric(collector: Collector, name: str) -> int:
    text = collector.ask("/metrics")[1]
    (line,) = [each for each in text.splitlines() if each.startswith(f"{name}_total ")]
    return int(line.split()[1])


def age(server: Server, job: str, days: int) -> None:
    """As if it had been heard of so long ago, with its batches in the partition of that week."""
    (key, first, last) = server.sql(
        f"SELECT key, first_ns, heard_ns FROM headway.job WHERE name = '{job}'"
    )[0]
    by = days * DAY_NS
    begin = (int(first) - by - 4 * DAY_NS) // (7 * DAY_NS) * 7 * DAY_NS + 4 * DAY_NS
    for week in {begin, (int(last) - by - 4 * DAY_NS) // (7 * DAY_NS) * 7 * DAY_NS + 4 * DAY_NS}:
        name = "batch_" + time.strftime("%Y%m%d", time.gmtime(week // 10**9))
        server.sql(
            f"CREATE TABLE IF NOT EXISTS headway.{name} PARTITION OF headway.batch "
            f"FOR VALUES FROM ({week}) TO ({week + 7 * DAY_NS})"
        )
    server.sql(f"UPDATE headway.batch SET received_ns = received_ns - {by} WHERE job = {key}")
    server.sql(
        f"UPDATE headway.job SET first_ns = first_ns - {by}, heard_ns = heard_ns - {by} "
        f"WHERE key = {key}"
    )


def partitions(server: Server) -> set[str]:
    rows = server.sql(
        "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid "
        "WHERE inhparent = 'headway.batch'::regclass AND relkind = 'r'"
    )
    return {row[0] for row in rows}


def test_one_of_two_collectors_forgets(server: Server, tmp_path: Path) -> None:
    collectors = []
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        collectors.append(Collector(tmp_path / name))
        collectors[-1].store = server.url  # type: ignore[assignment]
    left, right = collectors
    try:
        left.start()
        for job in ("ancient", "old", "young"):
            run_small(tmp_path, job, left.url)
        deadline = time.monotonic() + 60
        while fleet_jobs(left) != {"ancient", "old", "young"}:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert left.stop() == 0
        young = partitions(server)
        age(server, "ancient", 800)
        age(server, "old", 100)
        assert len(partitions(server)) > len(young)
        right.start()  # which forgets nothing itself, but has all three in mind
        assert fleet_jobs(right) == {"ancient", "old", "young"}
        right.kill()
        keep = ("--keep-raw", "90d", "--keep-facts", "730d")
        for collector in collectors:
            collector.start(*keep)
        jobs = facts = 0
        while (jobs, facts) != (2, 1):
            assert time.monotonic() < deadline, [each.log.read_text() for each in collectors]
            jobs = sum(metric(each, "headway_collector_forgotten_jobs") for each in collectors)
            facts = sum(metric(each, "headway_collector_forgotten_facts") for each in collectors)
            time.sleep(0.1)
        for collector in collectors:  # a new one knows what is left
            collector.kill()
            collector.start(*keep)
            assert fleet_jobs(collector) == {"old", "young"}
            status, text = collector.ask("/api/v1/jobs/old/report")
            assert status == 404 and "the records of job old were forgotten" in text, text
            told = without_paths(collector.get("/api/v1/jobs/young/report"))
            assert told == report(tmp_path, "young")
        assert partitions(server) == young
        assert left.serve("--check").returncode == 0
    finally:
        for collector in collectors:
            if collector.process is not None and collector.process.poll() is None:
                collector.kill()
