"""What a job could not send, and a sender that cannot see those who write."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from pathlib import Path

import pytest
from collecting import HEADWAY, Collector
from small_jobs import environment, finish, report, run_small, start_small, without_paths


def note_of(folder: Path, job: str) -> Path:
    return folder / "jobs" / job / f"ship-{socket.gethostname()}.unsent"


def told(collector: Collector, job: str) -> dict[str, object]:
    return without_paths(collector.get(f"/api/v1/jobs/{job}/report"))


def unsent(folder: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HEADWAY, "ship", "--unsent", "--to", url, *words],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_next_run_sends_what_is_left(collector: Collector, tmp_path: Path) -> None:
    collector.start()  # for its address
    collector.kill()
    process = start_small(tmp_path, "cut", collector.url, 60)
    while not note_of(tmp_path, "cut").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.terminate()  # in a hurry: its sender has a second, and nobody to send to
    output, _ = process.communicate(timeout=120)
    assert "the next run with it sends the rest" in output
    assert f"headway ship cut --to {collector.url}" in output
    collector.start()
    next_one = start_small(tmp_path, "next", collector.url, 60)
    deadline = time.monotonic() + 60
    while note_of(tmp_path, "cut").exists():
        assert time.monotonic() < deadline and next_one.poll() is None
        time.sleep(0.1)
    assert told(collector, "cut") == report(tmp_path, "cut")
    next_one.terminate()
    next_one.communicate(timeout=120)
    log = (tmp_path / "jobs/next/ship.log").read_text()
    assert "what was left of the earlier job cut is sent" in log


def test_journals_that_are_full_before_the_collector_comes(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits has a bound: what went over it is counted, and what was kept is told."""
    bound = 65536
    collector.start()  # for its address
    collector.kill()
    monkeypatch.setenv("HEADWAY_JOURNAL_MAX_BYTES", str(bound))
    process = start_small(tmp_path, "full", collector.url, 5)
    folder = tmp_path / "jobs/full"
    while not (ranks := list(folder.glob("*/rank-*.hwj"))):
        assert process.poll() is None
        time.sleep(0.05)
    finish(process)
    assert sum(path.stat().st_size for path in ranks) <= bound
    wanted = report(tmp_path, "full")
    assert wanted["coverage"]["dropped_records"] > 0
    collector.start()
    assert json.loads(unsent(tmp_path, collector.url, "--json").stdout)["complete"]
    assert told(collector, "full") == wanted


def test_all_that_is_unsent(collector: Collector, tmp_path: Path) -> None:
    collector.start()
    for job in ("one", "two", "other"):
        run_small(tmp_path, job)
        note_of(tmp_path, job).write_text(collector.url + "\n")
    note_of(tmp_path, "other").write_text("http://elsewhere:8743\n")
    done = unsent(tmp_path, collector.url, "--json")
    assert json.loads(done.stdout) == {"jobs": 2, "complete": True}, done
    for job in ("one", "two"):
        assert told(collector, job) == report(tmp_path, job)
        assert not note_of(tmp_path, job).exists()
    assert note_of(tmp_path, "other").exists()
    assert collector.ask("/api/v1/jobs/other/report")[0] == 404
    assert unsent(tmp_path, collector.url).stdout.startswith("0 earlier jobs sent")
    collector.kill()
    note_of(tmp_path, "two").write_text(collector.url + "\n")
    done = unsent(tmp_path, collector.url, "--json", "--wait", "1s")
    assert done.returncode == 1 and not json.loads(done.stdout)["complete"], done
    assert note_of(tmp_path, "two").exists()


def test_a_sender_in_another_pid_namespace(collector: Collector, tmp_path: Path) -> None:
    """It sees neither the processes that write nor their locks, and takes them for alive."""
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        pytest.skip("no PID namespace can be made here")
    collector.start()
    process = start_small(tmp_path, "seen", seconds=6)
    while not list((tmp_path / "jobs/seen").glob("*/rank-*.hwj")):
        assert process.poll() is None
        time.sleep(0.05)
    sent = subprocess.run(
        [*apart, HEADWAY, "ship", "seen", "--to", collector.url, "--json"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert process.poll() is None
    assert json.loads(sent.stdout)["running"], sent
    finish(process)
    rest = subprocess.run(
        [HEADWAY, "ship", "seen", "--to", collector.url, "--json"],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert json.loads(rest.stdout)["complete"], rest
    assert told(collector, "seen") == report(tmp_path, "seen")
