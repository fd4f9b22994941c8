"""Tunes kernels (kernels.py) for the shapes that it is given, in a process of its own.

    python bench/autotune/tune.py '[["matmul", [1024, 1024, 1024]], …]' [--pins pins.py]

Prints a JSON line for each: seconds, how many configurations were tried, the winner. The cache
directory is TRITON_CACHE_DIR; with TRITON_CACHE_AUTOTUNING=1 the times are left there."""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings

warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")

import kernels  # noqa: E402
import triton  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", type=json.loads)
    parser.add_argument("--pins")
    arguments = parser.parse_args()
    kernels.use_stand_in()
    if arguments.pins:
        spec = importlib.util.spec_from_file_location("pins", arguments.pins)
        assert spec is not None and spec.loader is not None
        pins = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(pins)
        pins.install_triton()
    told: list[dict[str, object]] = []
    triton.knobs.autotuning.listener = lambda **found: told.append(found)
    for kernel, shape in arguments.shapes:
        told.clear()
        begin = time.perf_counter()
        tuned = kernels.run(kernel, shape)
        seconds = time.perf_counter() - begin
        tried = {str(c): t[0] for c, t in told[0]["configs_timings"].items()} if told else {}
        line = {"kernel": kernel, "shape": shape, "seconds": seconds, "tried": max(len(tried), 1)}
        line |= {"winner": str(tuned.best_config), "times": tried}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
