"""Saves in one process and restores in another: how long until an initialised model has its state.

restore_worker.py save ENGINE GIB FOLDER       and is killed, as a crash would
restore_worker.py load ENGINE GIB FOLDER       prints one line of JSON

ENGINE: headway; headway-unsure, where the agent has not said that nobody wrote where he should not;
headway-memory, of a step that is not on disk yet; dcp; torch.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from engines import state_of
from workloads import make


def keeper_of(work, folder: Path, **cadence: int):
    import headway as hw

    return hw.checkpointer(
        folder, model=work.model, optimizer=work.optimizer, keep_last=2, **cadence
    )


def stage(work, folder: Path) -> None:
    """Two steps, into memory only."""
    keeper = keeper_of(work, folder, every_steps=1000, stage_steps=1)
    for step in (1, 2):
        while not keeper.maybe_save(step):  # until there is memory for it
            time.sleep(0.1)


def save(engine: str, work, folder: Path) -> None:
    work.step()
    if engine == "headway-memory":
        stage(work, folder)
    elif engine.startswith("headway"):
        keeper = keeper_of(work, folder)
        keeper.save(1, wait=True)
        keeper.save(2, wait=True)
    elif engine == "dcp":
        writer = dcp.FileSystemWriter(folder / "dcp", sync_files=True)
        dcp.save(state_of(work), storage_writer=writer, no_dist=True)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "state.pt", "wb") as file:
            torch.save(state_of(work), file)
            os.fsync(file.fileno())
    os.kill(os.getpid(), signal.SIGKILL)


def load(engine: str, work, folder: Path) -> float:
    if engine != "headway-unsure":
        os.environ["HEADWAY_REPLICA_TRUSTED"] = "1"  # as the agent says after SIGKILL
    if engine.startswith("headway"):
        keeper = keeper_of(work, folder)
        begin = time.perf_counter()
        keeper.restore()
        return time.perf_counter() - begin
    work.step()  # peers load into state that is there
    begin = time.perf_counter()
    if engine == "dcp":
        state = state_of(work)
        dcp.load(state, storage_reader=dcp.FileSystemReader(folder / "dcp"), no_dist=True)
    else:
        state = torch.load(folder / "state.pt", weights_only=True)
    work.model.load_state_dict(state["model"])
    work.optimizer.load_state_dict(state["optimizer"])
    return time.perf_counter() - begin


def main() -> None:
    mode, engine, gib, folder = sys.argv[1:5]
    work = make("dense", float(gib))
    if mode == "save":
        save(engine, work, Path(folder))
    seconds = load(engine, work, Path(folder))
    begin = time.perf_counter()
    work.step()
    print(json.dumps({"restore_s": seconds, "first_step_s": time.perf_counter() - begin}))


if __name__ == "__main__":  # peers start processes that import this file again
    main()
