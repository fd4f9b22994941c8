"""What the hook costs a training step.

    python bench/bench_hook.py [--quick]

`hook_overhead_us`: the hook's own code for one step, measured around a function that does nothing
(hooked/paths.py). `hook_loop_added_us`: what a small unmodified training loop takes longer, epochs
with and without the hook in turns (hooked/loop.py): more than the former, as the loop's own code
drives the hook's out of the caches. Both in CPU time of the training thread, medians over several
processes, whose readings go to stderr. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

HOOKED = Path(__file__).resolve().parent / "hooked"


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


def run(script: str, count: int, package: Path) -> str:
    """What a script prints under the hook."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("HEADWAY_")}
    env["PYTHONPATH"] = f"{package / 'headway' / '_hook'}:{package}"
    with tempfile.TemporaryDirectory() as folder:
        env |= {"HEADWAY_DIR": folder, "HEADWAY_JOB": "bench", "HEADWAY_ATTEMPT": "1"}
        command = [sys.executable, str(HOOKED / script), str(count)]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return done.stdout


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


def readings(name: str, values: list[float]) -> float:
    """Their median; every one of them is shown."""
    print(f"{name}: {' '.join(f'{value:.2f}' for value in values)}", file=sys.stderr, flush=True)
    return statistics.median(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    quick = parser.parse_args().quick
    package = find_package()
    repeats = 2 if quick else 5
    paths = [float(run("paths.py", 2_000 if quick else 20_000, package)) for _ in range(repeats)]
    row("hook_overhead_us", "us/step", readings("hook_overhead_us", paths), 5.0, "target")
    loops = [json.loads(run("loop.py", 20 if quick else 200, package)) for _ in range(repeats)]
    added = readings("hook_loop_added_us", [loop["added"] for loop in loops])
    row("hook_loop_added_us", "us/step", added, 5.0, "target")
    hooked, plain = (
        readings(f"hook_loop_us {k}", [x[k] for x in loops]) for k in ("with", "without")
    )
    row("hook_loop_us", "us/step", hooked, plain, "the same loop without the hook")


if __name__ == "__main__":
    main()
