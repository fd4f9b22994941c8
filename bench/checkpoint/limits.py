"""What the machine can do at best: a copy of warm memory, a write past the page cache.

limits.py GIB FOLDER        prints one line of JSON
"""

from __future__ import annotations

import json
import mmap
import os
import statistics
import sys
import threading
import time
from pathlib import Path

import torch

WRITE_BYTES = 8 << 20


def copy_s(bytes_: int, threads: int = 2) -> float:
    """Private memory into shared memory, both touched before, each thread its half."""
    source = torch.ones(bytes_ // 4, dtype=torch.float32)
    shared = mmap.mmap(-1, bytes_)
    target = torch.frombuffer(shared, dtype=torch.float32)
    target.fill_(0)
    torch.set_num_threads(1)
    halves = list(zip(source.chunk(threads), target.chunk(threads), strict=True))

    def once() -> float:
        begin = time.perf_counter()
        workers = [threading.Thread(target=to.copy_, args=(one,)) for one, to in halves]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.perf_counter() - begin

    return statistics.median(once() for _ in range(5))


def write_s(bytes_: int, folder: Path) -> float:
    """O_DIRECT, one write of 8 MiB behind the other, and a sync. Once: every round of the benchmark
    asks again."""
    memory = mmap.mmap(-1, WRITE_BYTES)
    memory.write(os.urandom(WRITE_BYTES))
    path = folder / "direct"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
    os.posix_fallocate(fd, 0, bytes_)
    begin = time.perf_counter()
    for at in range(0, bytes_, WRITE_BYTES):
        os.pwrite(fd, memory, at)
    os.fdatasync(fd)
    took_s = time.perf_counter() - begin
    os.close(fd)
    path.unlink()
    return took_s


def main() -> None:
    bytes_ = round(float(sys.argv[1]) * (1 << 30))
    print(json.dumps({"copy_s": copy_s(bytes_), "write_s": write_s(bytes_, Path(sys.argv[2]))}))


main()
