"""Which jobs there are, how large they are, and how they are shared out among tasks.

Most jobs are small and a few are huge, so tasks are not made by counting jobs: the largest is
placed first, each where there is least so far, and the task with most to do is started first."""

from __future__ import annotations

import heapq
import math
import os
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

ENDINGS = (".hwj", ".jsonl")
DEPTH_MAX = 8  # of folders below a job's, as `headway report` looks
JOBS_MAX = 10_000_000
WALKERS = 16  # a shared file system answers slowly, but many at once
FILE_COST_BYTES = 64 << 10  # what opening a file is worth
TASK_BYTES_MIN = 8 << 20  # less is not worth a task, once every slot has one
TASK_BYTES_MAX = 1 << 30  # more is too much to do again
TASKS_PER_SLOT = 8
TASKS_MAX = 100_000
# As src/base/job_path.h has it.
JOB_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@=-]{0,199}\Z", re.ASCII)


class Folder(NamedTuple):
    path: str
    files: int
    bytes: int

    @property
    def cost(self) -> int:
        return self.bytes + self.files * FILE_COST_BYTES


def measure(path: str) -> Folder:
    files = size = 0
    waiting = [(path, 0)]
    while waiting:
        place, depth = waiting.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if depth < DEPTH_MAX:
                            waiting.append((entry.path, depth + 1))
                    elif entry.name.endswith(ENDINGS):
                        files += 1
                        size += entry.stat().st_size
        except OSError:
            files += 1  # the task that reads it will say why
    return Folder(path, files, size)


def list_jobs(root: str, seen: Callable[[int], None] = lambda count: None) -> list[Folder]:
    """The folders below `root` that hold journals or event lines, by name."""
    with os.scandir(root) as entries:
        paths = sorted(
            entry.path for entry in entries if JOB_NAME.match(entry.name) and entry.is_dir()
        )
    if len(paths) > JOBS_MAX:
        raise ValueError(f"{root}: {len(paths)} jobs, more than {JOBS_MAX}; give a part of them")
    found = []
    with ThreadPoolExecutor(WALKERS) as walkers:
        for folder in walkers.map(measure, paths):
            if folder.files:
                found.append(folder)
            seen(len(found))
    return found


def tasks_for(folders: Iterable[Folder], slots: int) -> int:
    """So many that all slots stay busy to the end, and that none has too much to lose."""
    total = sum(folder.cost for folder in folders)
    worth = max(slots, total // TASK_BYTES_MIN)
    needed = math.ceil(total / TASK_BYTES_MAX)
    return min(max(min(TASKS_PER_SLOT * slots, worth), needed), TASKS_MAX)


def share_out(folders: Iterable[Folder], tasks: int) -> list[list[str]]:
    """Paths by task, the task with most to do first, in each the largest first."""
    ordered = sorted(folders, key=lambda folder: (-folder.cost, folder.path))
    loads = [(0, number) for number in range(max(1, min(tasks, len(ordered))))]
    shares: list[list[str]] = [[] for _ in loads]
    for folder in ordered:
        load, number = loads[0]
        shares[number].append(folder.path)
        heapq.heapreplace(loads, (load + folder.cost, number))
    largest_first = sorted(loads, key=lambda each: (-each[0], each[1]))
    return [shares[number] for _, number in largest_first if shares[number]]
