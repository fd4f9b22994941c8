"""`headway run --collector`: a job tells a collector while it runs, and runs as well without."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from collecting import HEADWAY, Collector
from small_jobs import environment, finish, report, run_small, without_paths
from test_collector import SCRIPT, ship


def start(folder: Path, job: str, steps: int, url: str, *words: str) -> subprocess.Popen[str]:
    script = folder / "train.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [HEADWAY, "run", "--nproc", "2", "--max-restarts", "2", "--job", job, "--collector", url]
        + ["--attr", "team=ads", *words, str(script), str(steps), "--crash"],
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def told(collector: Collector, job: str) -> dict[str, object]:
    return without_paths(collector.get(f"/api/v1/jobs/{job}/report"))


def test_a_job_is_told_while_it_runs(tmp_path: Path, collector: Collector) -> None:
    collector.start()
    process = start(tmp_path, "live", 300, collector.url)
    states = set()
    while process.poll() is None:
        states |= {row["state"] for row in collector.get("/api/v1/jobs")["jobs"]}
        time.sleep(0.2)
    output = finish(process)
    assert "has not taken" not in output
    assert "running" in states
    assert told(collector, "live") == report(tmp_path, "live")
    deadline = time.monotonic() + 60
    while True:
        row = collector.get("/api/v1/jobs?text=live")["jobs"][0]
        if row["state"] == "finished" or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    assert row["state"] == "finished" and row["attempts"] == 2 and row["failures"] == 1
    assert row["dimensions"]["team"] == "ads"
    assert row["dimensions"]["family"] == "train.py"
    assert row["dimensions"]["torch"].startswith("2.")
    levers = {each["name"] for each in collector.get("/api/v1/fleet/dimensions")["levers"]}
    assert "fork_server" in levers
    # The fleet of one job is that job, to the nanosecond.
    total = collector.get("/api/v1/fleet/rollup")["total"]
    whole = report(tmp_path, "live")
    assert total["wall_ns"] == whole["wall_ns"]
    assert abs(total["ett_pct"]["value"] - whole["ett_pct"]) < 1e-9
    failures = collector.get("/api/v1/fleet/failures")["categories"]
    assert [each["count"] for each in failures] == [1]


def test_what_caches_were_worth_reaches_the_fleet(tmp_path: Path, collector: Collector) -> None:
    collector.start()
    found = "hits=7 misses=1 bypasses=2 builds=0 original_ms=9000 spent_ms=1500"
    pulled = "archives=1 files=40 bytes=1000 ms=120"
    notes = [f"compile_cache.0={found}", f"compile_cache_pulled={pulled}"]
    words = [word for note in notes for word in ("--attr", note)]
    run_small(tmp_path, "cached", collector.url, 0.3, *words, "--attr", "devices=8")
    run_small(tmp_path, "plain", collector.url)
    told = report(tmp_path, "cached")["compile_cache"]
    deadline = time.monotonic() + 60
    while True:  # facts are kept a moment after their records
        fleet = collector.get("/api/v1/fleet/rollup?by=size")
        if fleet["total"]["jobs"] == 2 or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    cache = fleet["total"]["compile_cache"]
    for same in ("hits", "misses", "bypasses", "hit_pct", "coverage_pct"):
        assert cache[same] == told[same], same
    assert cache["saved_s"] == told["saved_ns"] / 1e9 == 7.5
    assert abs(cache["saved_device_hours"] - 8 * 7.5 / 3600) < 1e-12
    # The other job compiled nothing: it is not among those that a cache could have served.
    assert (cache["attempts"], cache["asked"], cache["unpacked"]) == (1, 1, 1)
    by_size = {group["key"]["size"]: group["compile_cache"] for group in fleet["groups"]}
    assert by_size == {"8-63": cache, "1": None}


def test_a_collector_that_is_away_costs_a_note(tmp_path: Path, collector: Collector) -> None:
    collector.start()  # for its address
    collector.kill()
    output = finish(start(tmp_path, "alone", 40, collector.url))
    assert f"headway ship alone --to {collector.url}" in output
    assert (tmp_path / "jobs/alone/ship.log").exists()
    collector.start()
    assert ship(tmp_path, "alone", collector.url)["complete"]
    assert told(collector, "alone") == report(tmp_path, "alone")


def test_a_token_that_is_missing_is_said_at_once(tmp_path: Path, collector: Collector) -> None:
    """Not in a log only, and not when all is over."""
    collector.start()
    assert collector.serve("token", "add").returncode == 0
    collector.kill()
    collector.start()
    process = start(tmp_path, "closed", 4_000, collector.url)
    assert process.stdout is not None
    said = (line for line in process.stdout if "does not take records" in line)
    line = next(said, "nothing")
    assert line.startswith(f"headway: the collector at {collector.url} ")
    assert "a token is needed" in line and "see HEADWAY_TOKEN" in line
    assert process.poll() is None
    for _ in range(2):  # asked, and asked again
        process.terminate()
        time.sleep(0.2)
    rest = process.communicate(timeout=120)[0]
    assert "does not take records" not in rest, "once"


def test_a_collector_that_dies_and_comes_back(tmp_path: Path, collector: Collector) -> None:
    collector.start()
    process = start(tmp_path, "through", 400, collector.url)
    for _ in range(3):
        time.sleep(0.7)
        collector.kill()
        time.sleep(0.3)
        collector.start()
    output = finish(process)
    if "has not taken" in output:  # it was waiting when the job ended
        ship(tmp_path, "through", collector.url)
    assert told(collector, "through") == report(tmp_path, "through")


def test_what_is_no_address_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [HEADWAY, "run", "--collector", "localhost:8743", "train.py"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "--collector localhost:8743: want the address" in done.stderr
