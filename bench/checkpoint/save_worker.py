"""One process that trains and saves in one way: what a save costs until it is durable.

    save_worker.py ENGINE WORKLOAD GIB FOLDER SAVES STEPS_BETWEEN

Prints one line of JSON. The first save, which gets memory, is not counted. What is asked of some of
our ways only comes after that: how long until a save is durable with nothing else running, what
memory it takes, what saves by rows block that follow one step each.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from engines import ENGINES, Engine
from workloads import Workload, make


class Reading(NamedTuple):
    block_s: float
    durable_s: float
    delta_eff_s: float
    whole: bool  # nothing that was saved before is needed to read it


def timed_step(step: Callable[[], None]) -> float:
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


def settle(engine: Engine) -> None:
    while not engine.durable():
        time.sleep(0.001)


def read(engine: Engine, step: Callable[[], None], base_s: float, steps_min: int) -> Reading:
    """Of one save, and the steps behind it until it is durable, `steps_min` at least."""
    begin = time.perf_counter()
    engine.save()
    block_s = time.perf_counter() - begin
    slow_s = durable_s = 0.0
    steps = 0
    while steps < steps_min or not durable_s:
        if not durable_s and engine.durable():
            durable_s = time.perf_counter() - begin
        took_s = timed_step(step)
        steps += 1
        if not durable_s:
            slow_s += took_s - base_s
    return Reading(block_s, durable_s, block_s + slow_s, engine.newest_is_whole())


def idle(engine: Engine, work: Workload, between: int) -> dict[str, float]:
    begin = time.perf_counter()
    engine.save()
    settle(engine)
    return {"durable_idle_s": time.perf_counter() - begin}


def memory(engine: Engine, work: Workload, between: int) -> dict[str, float]:
    work.step()
    return {"memory_later_mib": most_while(engine.save)}


def after_a_step(engine: Engine, work: Workload, between: int) -> dict[str, float]:
    """And how many rows that was, beside those between two of the saves before."""
    assert work.touched_by is not None
    engine.save()  # what was changed since the last one is no matter of the next
    settle(engine)
    found = []
    for _ in range(5):
        work.step()
        begin = time.perf_counter()
        engine.save()
        found.append(time.perf_counter() - begin)
        settle(engine)
    return {
        "rows": work.rows,
        "touched_of_a_step": work.touched_by(1),
        "touched_between": work.touched_by(between),
        "block_after_a_step_s": statistics.median(found),
    }


MORE = {"headway": idle, "headway-stream": memory, "headway-rows": after_a_step}


def main() -> None:
    engine_name, workload, gib, folder = sys.argv[1:5]
    saves, between = map(int, sys.argv[5:7])
    torch.set_num_threads(2)
    work = make(workload, float(gib))
    for _ in range(3):
        work.step()
    engine = ENGINES[engine_name](work, Path(folder))
    memory_first_mib = most_while(engine.save)
    settle(engine)
    base_s = statistics.median(timed_step(work.step) for _ in range(between))
    # Steps behind the last one, once it is durable, would show nothing.
    steps = [between] * (saves - 1) + [0]
    readings = [read(engine, work.step, base_s, steps_min) for steps_min in steps]
    more = MORE[engine_name](engine, work, between) if engine_name in MORE else {}
    engine.close()
    result = {
        "base_step_s": base_s,
        "block_s": statistics.median(one.block_s for one in readings),
        "durable_s": statistics.median(one.durable_s for one in readings),
        "delta_eff_s": statistics.median(one.delta_eff_s for one in readings),
        "delta_eff_mean_s": statistics.mean(one.delta_eff_s for one in readings),
        "wholes": sum(one.whole for one in readings),
        "memory_mib": max(memory_first_mib, more.pop("memory_later_mib", 0.0)),
        **more,
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":  # peers start processes that import this file again
    main()
