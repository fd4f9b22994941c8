"""What the hook costs a training step.

    python bench/bench_hook.py [--quick]

Two numbers. `hook_overhead_us`: the hook's own paths (a batch and an optimizer step, as torch calls
them) in a tight loop, with and without the hook, in one process. `hook_loop_us`: a small unmodified
loop run as it is and under the hook, interleaved, medians over the runs. Both in CPU time of the
training thread, so that a busy machine does not count. Also the cost of a single record from
Python. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PATHS = """
import gc, sys, time
import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter, DataLoader

count = int(sys.argv[1])

class Endless(_BaseDataLoaderIter):
    def _next_data(self):
        return None

class Loader(DataLoader):
    def _get_iterator(self):
        return Endless(self)

class Nothing(torch.optim.Optimizer):
    def __init__(self):
        super().__init__([torch.nn.Parameter(torch.zeros(1))], {})
    def step(self, closure=None):
        return None

iterator = iter(Loader([0], batch_size=1))
optimizer = Nothing()
def run(steps):
    for _ in range(steps):
        next(iterator)
        optimizer.step()
run(2000)
gc.disable()
best = float("inf")
for _ in range(7):
    begin = time.thread_time()
    run(count)
    best = min(best, time.thread_time() - begin)
print(best / count * 1e6)
"""

LOOP = """
import sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
torch.set_num_threads(1)
steps = int(sys.argv[1])
loader = DataLoader(TensorDataset(torch.randn(steps * 4, 16)), batch_size=4)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def epoch():
    begin = time.thread_time()
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    return time.thread_time() - begin
epoch()
print(min(epoch() for _ in range(3)) / steps * 1e6)
"""


def find_package() -> Path:
    if given := os.environ.get("HEADWAY_PYTHON_DIR"):
        return Path(given)
    built = list(ROOT.glob("build/python/headway/_core*.so"))
    built = built or list(ROOT.glob("build-*/python/headway/_core*.so"))
    if not built:
        sys.exit(
            "bench_hook: no built _core; build first or set HEADWAY_PYTHON_DIR to <build>/python"
        )
    return max(built, key=lambda path: path.stat().st_mtime).parents[1]


def run(text: str, count: int, package: Path | None, folder: str) -> float:
    """Microseconds per step, as the script prints them; under the hook where a package is given."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("HEADWAY_")}
    if package is not None:
        env["PYTHONPATH"] = f"{package / 'headway' / '_hook'}:{package}"
        env |= {"HEADWAY_DIR": folder, "HEADWAY_JOB": "bench", "HEADWAY_ATTEMPT": "1"}
    command = [sys.executable, "-c", text, str(count)]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return float(done.stdout)


def row(name: str, unit: str, ours: float, peer: float, peer_name: str) -> None:
    line = {
        "name": name,
        "unit": unit,
        "ours": round(ours, 3),
        "peer": round(peer, 3),
        "peer_name": peer_name,
        "ratio": round(ours / peer, 4) if peer else 0.0,
        "better": "lower",
    }
    print(json.dumps(line), flush=True)


def compare(text: str, count: int, repeats: int, package: Path) -> tuple[float, float, float]:
    """Medians with and without the hook, and of the paired differences."""
    with_hook, without = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            without.append(run(text, count, None, folder))
            with_hook.append(run(text, count, package, folder))
    added = [a - b for a, b in zip(with_hook, without, strict=True)]
    return statistics.median(with_hook), statistics.median(without), statistics.median(added)


def record_cost(package: Path, number: int) -> float:
    """Nanoseconds of one record from Python, the loop's own time taken off."""
    sys.path.insert(0, str(package))
    import headway
    from headway import _core

    with tempfile.TemporaryDirectory() as folder:
        headway.init(job="bench", dir=folder)
        scope = {"step_end": _core.step_end}
        calls = timeit.repeat("step_end(7, 56)", globals=scope, number=number, repeat=7)
        empty = timeit.repeat("pass", number=number, repeat=7)
        _core.shutdown()
    return (min(calls) - min(empty)) / number * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    quick = parser.parse_args().quick
    package = find_package()
    row(
        "record_python_ns", "ns", record_cost(package, 20_000 if quick else 100_000), 80.0, "target"
    )
    repeats = 2 if quick else 5
    hooked, plain, added = compare(PATHS, 5_000 if quick else 30_000, repeats, package)
    row("hook_overhead_us", "us/step", added, 5.0, "target")
    row("hook_paths_us", "us/step", hooked, plain, "the same calls without the hook")
    hooked, plain, _ = compare(LOOP, 500 if quick else 3_000, repeats, package)
    row("hook_loop_us", "us/step", hooked, plain, "the same script without the hook")


if __name__ == "__main__":
    main()
