"""One process that trains and saves in one way: what a save costs until it is durable.

    save_worker.py ENGINE WORKLOAD GIB FOLDER SAVES STEPS_BETWEEN

Prints one line of JSON. The first save, which gets memory, is not counted.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path

import torch
from engines import ENGINES
from workloads import make


def timed_step(step) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def main() -> None:
    engine_name, workload, gib, folder, saves, between = sys.argv[1:7]
    torch.set_num_threads(2)
    work = make(workload, float(gib))
    for _ in range(3):
        work.step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    engine = ENGINES[engine_name](work, Path(folder))
    engine.save()
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
    engine.close()
    result = {
        "base_step_s": base,
        "block_s": statistics.median(blocks),
        "durable_s": statistics.median(durables),
        "durable_idle_s": idle,
        "delta_eff_s": statistics.median(deltas),
        "delta_eff_mean_s": statistics.mean(deltas),
        "memory_mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":  # peers start processes that import this file again
    main()
