"""Collectors that share a PostgreSQL database, and what may become of them and of it."""

from __future__ import annotations

import os
import random
import subprocess
import time
import urllib.error
from pathlib import Path
from typing import Any

from collecting import HEADWAY, Collector
from collector_pair import Pair
from postgres_servers import Server
from sent_jobs import Job
from small_jobs import run_small, without_paths

FULL = bool(os.environ.get("HEADWAY_TEST_FULL"))


def start_jobs(pair: Pair, folder: Path, seconds: float) -> list[Job]:
    """Some that end well and one that is restarted."""
    count = 8 if FULL else 3
    return [
        Job(folder, f"job{i}", pair.balancer.url, seconds, *(["--crash"] if i == 0 else []))
        for i in range(count)
    ]


def settled(collector: Collector, job: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """What it tells in the end: it does not read a job anew all the time."""
    deadline = time.monotonic() + 60
    while True:
        told = without_paths(collector.get(f"/api/v1/jobs/{job}/report"))
        if told == wanted or time.monotonic() > deadline:
            return told
        time.sleep(0.5)


def check_all(pair: Pair, jobs: list[Job]) -> None:
    """Every job is told by every collector as its own machine tells it."""
    for job in jobs:
        job.finish()
    for job in jobs:
        wanted = job.report()
        assert wanted["l2"]["effective_ns"] > 0
        for collector in pair.collectors:
            told = settled(collector, job.name, wanted)
            assert told == wanted, pair.logs()
    checked = pair.collectors[0].serve("--check")
    assert checked.returncode == 0, checked.stderr
    print(pair.balancer.answers)
    assert pair.balancer.answers[200] > 100
    assert set(pair.balancer.answers) <= {200, 409, 503}


def draw() -> random.Random:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    return random.Random(seed)


def test_two_collectors_tell_the_same(pair: Pair, server: Server, tmp_path: Path) -> None:
    jobs = start_jobs(pair, tmp_path, 60 if FULL else 4)
    while any(job.run.poll() is None for job in jobs):
        for collector in pair.collectors:
            for job in jobs:
                try:
                    told = collector.get(f"/api/v1/jobs/{job.name}/report")
                except urllib.error.HTTPError as error:
                    assert error.code == 404
                    continue
                assert sum(told["l2"].values()) == told["wall_ns"]
        time.sleep(0.2)
    check_all(pair, jobs)
    # Another one that has heard nothing of all that.
    pair.collectors[0].kill()
    pair.collectors[0].start()
    check_all(pair, [])
    for job in jobs:
        wanted = job.report()
        assert settled(pair.collectors[0], job.name, wanted) == wanted
    (batches,) = server.sql("SELECT count(*) FROM headway.batch")
    assert int(batches[0]) > 10


def test_what_caches_were_worth_is_told_by_all(pair: Pair, tmp_path: Path) -> None:
    """One collector hears of it, and the others find it in the database, after a restart, too."""
    note = "compile_cache.0=hits=7 misses=1 bypasses=2 original_ms=9000 spent_ms=1500"
    run_small(tmp_path, "cached", pair.collectors[0].url, 0.3, "--attr", note)
    pair.collectors[1].kill()
    pair.collectors[1].start()
    for collector in pair.collectors:
        deadline = time.monotonic() + 60
        while True:
            cache = collector.get("/api/v1/fleet/rollup")["total"]["compile_cache"]
            if cache is not None or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        assert (cache["hits"], cache["misses"], cache["saved_s"]) == (7, 1, 7.5), pair.logs()
        assert (cache["attempts"], cache["asked"]) == (1, 0)


def test_a_collector_that_is_killed_loses_nothing(pair: Pair, tmp_path: Path) -> None:
    kills = 60 if FULL else 4
    dice = draw()
    jobs = start_jobs(pair, tmp_path, 2 * kills)
    for _ in range(kills):
        time.sleep(dice.uniform(0.2, 1.5))
        victim = dice.choice(pair.collectors)
        victim.kill()
        time.sleep(dice.uniform(0, 0.3))
        victim.start()
    check_all(pair, jobs)


def test_a_server_that_is_restarted(pair: Pair, server: Server, tmp_path: Path) -> None:
    times = 20 if FULL else 2
    dice = draw()
    jobs = start_jobs(pair, tmp_path, 5 * times)
    for i in range(times):
        time.sleep(dice.uniform(0.5, 2))
        if i % 2 == 0:
            server.kill()
        else:
            server.stop()
        time.sleep(dice.uniform(0, 1))
        for collector in pair.collectors:
            assert collector.get("/healthz") == {"status": "ok"}
        server.start()
    check_all(pair, jobs)
    # One line for one trouble, not one a second.
    troubles = [line for line in pair.logs().splitlines() if not line.startswith("{")]
    assert len(troubles) < 40 * times, pair.logs()  # the audit has a bound of its own


def fail_over(pair: Pair, primary: Server, standby: Server) -> None:
    """The primary's machine goes. All that was acknowledged is on the standby by then."""
    primary.kill()
    acknowledged = pair.balancer.snapshot()
    assert acknowledged
    deadline = time.monotonic() + 60
    asked = "SELECT pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()"
    while standby.sql(asked) != [["t"]]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    rows = standby.sql("SELECT encode(id, 'hex'), next_slot FROM headway.journal")
    there = {row[0]: int(row[1]) for row in rows}
    lost = {k: (v, there.get(k, 0)) for k, v in acknowledged.items() if there.get(k, 0) < v}
    assert not lost
    standby.promote()


def test_fail_over_to_a_synchronous_standby(pairs: list[Pair], tmp_path: Path) -> None:
    for round_ in range(5 if FULL else 1):
        folder = tmp_path / str(round_)
        folder.mkdir()
        primary, standby = Server(), Server()
        try:
            primary.init()
            primary.start()
            standby.copy_of(primary)
            standby.start()
            primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            primary.sql("SELECT pg_reload_conf()")
            deadline = time.monotonic() + 60
            while primary.sql("SELECT sync_state FROM pg_stat_replication") != [["sync"]]:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            url = f"postgres://headway@{primary.place},{standby.place}/headway"
            pair = Pair(folder, url)
            pairs.append(pair)
            jobs = start_jobs(pair, folder, 8)
            while len(pair.balancer.snapshot()) < 2 * len(jobs):
                time.sleep(0.1)
            time.sleep(draw().uniform(1, 3))
            fail_over(pair, primary, standby)
            check_all(pair, jobs)
            assert "no PostgreSQL server there takes writes" in pair.logs()
        finally:
            primary.remove()
            standby.remove()


def test_what_is_wrong_is_told_in_one_line(server: Server, tmp_path: Path) -> None:
    def fails(*words: str, store: str = server.url) -> str:
        done = subprocess.run(
            [HEADWAY, "serve", *words, "--store", store], capture_output=True, text=True
        )
        assert done.returncode == 2, done
        assert done.stderr.count("\n") == 1, done.stderr
        assert "s3cret" not in done.stdout + done.stderr
        return done.stderr

    with_secret = server.url.replace("headway@", "headway:s3cret@")
    assert "has no database nowhere" in fails("--check", store=with_secret[:-7] + "nowhere")
    assert "postgres://USER@HOST" in fails("--check", store="postgres://u:s3cret@h:x/d")
    refused = fails("--check", store="postgres://u:s3cret@127.0.0.1:1/d")
    assert "postgres://u@127.0.0.1:1/d" in refused and "Connection refused" in refused
    assert "holds no store of Headway" in fails("--check", store=with_secret)
    words = [HEADWAY, "serve", "token", "add", "--role", "read", "--store", with_secret]
    assert subprocess.run(words, capture_output=True).returncode == 0
    good = subprocess.run(
        [HEADWAY, "serve", "--check", "--store", with_secret], capture_output=True, text=True
    )
    assert good.returncode == 0 and good.stdout == f"{server.url}: good\n", good
    assert "pg_dump" in fails("--back-up", str(tmp_path / "copy"))
    server.sql("INSERT INTO headway.schema_version VALUES(99)")
    assert "schema version 99" in fails("--check")
