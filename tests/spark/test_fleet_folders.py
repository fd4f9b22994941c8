"""How jobs are found and shared out among tasks."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(Path(os.environ.get("HEADWAY_PYTHON", ROOT / "build/python"))))

from headway.fleet import folders  # noqa: E402
from headway.fleet.folders import Folder  # noqa: E402


@pytest.mark.parametrize("seed", range(20))
def test_every_job_is_in_one_task_and_no_task_is_much_fuller_than_it_must_be(seed: int) -> None:
    draw = random.Random(seed)
    jobs = [
        Folder(f"/j/{i}", draw.randrange(1, 9), int(10 ** draw.uniform(3, 10))) for i in range(200)
    ]
    cost = {job.path: job.cost for job in jobs}
    tasks = draw.randrange(1, 40)
    shares = folders.share_out(draw.sample(jobs, len(jobs)), tasks)
    assert sorted(path for share in shares for path in share) == sorted(cost)
    assert len(shares) == tasks
    loads = [sum(cost[path] for path in share) for share in shares]
    assert loads == sorted(loads, reverse=True)
    # No order of this kind is worse than 4/3 of the best.
    best = max(sum(cost.values()) / tasks, max(cost.values()))
    assert loads[0] <= best * 4 / 3 + 1
    assert folders.share_out(jobs, tasks) == shares  # whatever the order they come in


def test_a_huge_job_is_alone_and_first() -> None:
    jobs = [Folder("/j/huge", 1, 1 << 40)] + [Folder(f"/j/{i}", 2, 1 << 20) for i in range(50)]
    shares = folders.share_out(jobs, 4)
    assert shares[0] == ["/j/huge"]
    assert {len(share) for share in shares[1:]} == {16, 17}


def test_more_tasks_than_jobs_are_not_made() -> None:
    assert folders.share_out([Folder("/j/1", 1, 1)], 8) == [["/j/1"]]
    assert folders.tasks_for([Folder("/j/1", 1, 3 << 40)], 2) == 3073
    assert folders.tasks_for([Folder("/j/1", 1, 1 << 20)], 4) == 4
    assert folders.tasks_for([Folder("/j/1", 1, 1 << 30)], 4) == 32


def test_folders_without_journals_are_no_jobs(tmp_path: Path) -> None:
    for name in ("a/1/rank-00000.hwj", "b/deep/er/events.jsonl", "c/log.txt", ".hidden/1/x.hwj"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"12345")
    (tmp_path / "file.hwj").write_bytes(b"")
    found = folders.list_jobs(str(tmp_path))
    assert found == [Folder(f"{tmp_path}/a", 1, 5), Folder(f"{tmp_path}/b", 1, 5)]
