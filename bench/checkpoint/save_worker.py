"""One process that trains and saves in one way: what a save costs until it is durable.

    save_worker.py ENGINE WORKLOAD GIB FOLDER SAVES STEPS_BETWEEN

Prints one line of JSON. The first save, which gets memory, is not counted. For tables also what
saves block that follow one step each, and which share of the rows was touched.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from engines import ENGINES, Engine
from workloads import make


def timed_step(step) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def memory_mib(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))


def most_while(save: Callable[[], None]) -> float:
    """By how much memory grows at most, in MiB. The process's own peak would show nothing of it:
    steps, whose temporary tensors are gone by then, have taken more."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = memory_mib("VmRSS")
    save()
    return memory_mib("VmHWM") - before


def blocks_after_a_step(engine: Engine, step: Callable[[], None]) -> list[float]:
    found = []
    for _ in range(5):
        step()
        begin = time.perf_counter()
        engine.save()
        found.append(time.perf_counter() - begin)
        while not engine.durable():
            time.sleep(0.001)
    return found


def main() -> None:
    engine_name, workload, gib, folder, saves, between = sys.argv[1:7]
    torch.set_num_threads(2)
    work = make(workload, float(gib))
    for _ in range(3):
        work.step()
    engine = ENGINES[engine_name](work, Path(folder))
    memories = [most_while(engine.save)]
    while not engine.durable():
        time.sleep(0.01)
    base = statistics.median(timed_step(work.step) for _ in range(int(between)))
    blocks, durables, deltas = [], [], []
    for _ in range(int(saves)):
        begin = time.perf_counter()
        engine.save()
        block = time.perf_counter() - begin
        slow = 0.0
        durable = 0.0
        steps = 0
        while steps < int(between) or not durable:
            if not durable and engine.durable():
                durable = time.perf_counter() - begin
            took = timed_step(work.step)
            steps += 1
            if not durable:
                slow += took - base
        blocks.append(block)
        durables.append(durable)
        deltas.append(block + slow)
    begin = time.perf_counter()
    engine.save()
    while not engine.durable():
        time.sleep(0.001)
    idle = time.perf_counter() - begin
    work.step()
    memories.append(most_while(engine.save))
    touched = {}
    if work.share_of:
        while not engine.durable():
            time.sleep(0.001)
        touched = {
            "share_of_a_step": work.share_of(1),
            "share_between": work.share_of(int(between)),
            "block_after_a_step_s": statistics.median(blocks_after_a_step(engine, work.step)),
        }
    engine.close()
    result = {
        "base_step_s": base,
        "block_s": statistics.median(blocks),
        "durable_s": statistics.median(durables),
        "durable_idle_s": idle,
        "delta_eff_s": statistics.median(deltas),
        "delta_eff_mean_s": statistics.mean(deltas),
        "memory_mib": max(memories),
        **touched,
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":  # peers start processes that import this file again
    main()
