"""Trains and saves until somebody kills it; started again, says which step it would go on after.

lost_worker.py train|look headway|dcp FOLDER     `train` writes each step that ended to a diary
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from engines import DcpAsyncThread
from workloads import make

EVERY = 20
GIB = 0.1


def newest_dcp(folder: Path) -> int:
    """The newest whose metadata is there; they are numbered from 1, a save every EVERY steps."""
    whole = [int(path.parent.name) for path in folder.glob("*/.metadata")]
    for number in sorted(whole, reverse=True):
        try:
            dcp.FileSystemReader(folder / str(number)).read_metadata()
        except Exception:  # half-written
            continue
        return number * EVERY
    return 0


def main() -> None:
    mode, engine, given = sys.argv[1:4]
    folder = Path(given)
    work = make("dense", GIB)
    work.step()
    start, keeper, saver = 0, None, None
    if engine == "headway":
        import headway as hw

        keeper = hw.checkpointer(
            folder / "ours",
            model=work.model,
            optimizer=work.optimizer,
            every_steps=EVERY,
            stage_steps=1,
        )
        start = keeper.restore() or 0
    else:
        start = newest_dcp(folder / "theirs")
        saver = DcpAsyncThread(work, folder / "theirs")
    if mode == "look":
        print(start)
        return
    diary = os.open(folder / "diary", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    torch.set_num_threads(2)
    for step in range(start + 1, 1_000_000):
        work.step()
        if keeper is not None:
            keeper.maybe_save(step)
        elif step % EVERY == 0 and saver is not None:
            while not saver.durable():
                pass
            saver.save()
        os.write(diary, f"{step}\n".encode())


if __name__ == "__main__":  # peers start processes that import this file again
    main()
