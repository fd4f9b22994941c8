"""What lies between senders and a collector may send twice, late and again, out of order."""

from __future__ import annotations

from pathlib import Path

from balancer import Balancer
from collecting import Collector
from sent_jobs import Job
from small_jobs import without_paths


def test_twice_late_and_again(collector: Collector, tmp_path: Path) -> None:
    """Every record is there once: of jobs that end well and of one that is restarted, and after a
    collector that was killed meanwhile."""
    collector.start()
    balancer = Balancer([collector.url])
    try:
        jobs = [
            Job(tmp_path, f"job{i}", balancer.url, 4, *(["--crash"] if i == 0 else []))
            for i in range(2)
        ]
        collector.kill()
        collector.start()
        for job in jobs:
            job.finish()
        for told_again in (False, True):
            if told_again:
                collector.kill()
                collector.start()
            for job in jobs:
                told = without_paths(collector.get(f"/api/v1/jobs/{job.name}/report"))
                assert told == job.report()
                assert told["l2"]["effective_ns"] > 0 and told["coverage"]["duplicates"] == 0
    finally:
        balancer.close()
    print(balancer.answers)
    assert balancer.answers[200] > 100
    assert set(balancer.answers) <= {200, 409, 503}
    assert collector.stop() == 0
    checked = collector.serve("--check")
    assert checked.returncode == 0, checked.stderr
