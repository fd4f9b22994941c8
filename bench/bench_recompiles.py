"""What the finder of dynamic sources saves a job whose batches are never of the same shape.

    python bench/bench_recompiles.py [--steps 12] [--rounds 5]

examples/shapes/train.py, with inductor and an empty cache each time: as it is (peer), and with the
line that `headway trace --dynamic-sources` prints for the trace of one such run. They take turns.
Compilations are counted, and their seconds added up, from traces of the very runs; the seconds of
the whole process are beside them. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))
SCRIPT = ROOT / "examples/shapes/train.py"


@dataclass
class Run:
    wall_s: float
    compile_s: float
    compiles: int
    graphs: int
    setting: str


def run(steps: int, setting: str) -> Run:
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        environment = dict(
            os.environ,
            TORCH_TRACE=f"{folder}/trace",
            TORCHINDUCTOR_CACHE_DIR=f"{folder}/cache",
            TMPDIR=folder,
            TORCH_COMPILE_DYNAMIC_SOURCES=setting,
        )
        began = time.monotonic()
        command = [sys.executable, str(SCRIPT), "--steps", str(steps)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        wall_s = time.monotonic() - began
        command = [BIN, "trace", f"{folder}/trace", "--dynamic-sources", "--json"]
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        found = told["dynamic_sources"]
        graphs = len({one["id"].split("/")[0] for log in told["logs"] for one in log["compiles"]})
        return Run(wall_s, found["total_us"] / 1e6, found["compiles"], graphs, found["setting"])


def row(name: str, unit: str, ours: float, peer: float) -> None:
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "better": "lower"}
    print(json.dumps(line | {"peer_name": "torch.compile as it is"}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    before, after = [run(args.steps, "")], []
    setting = before[0].setting
    if not setting:
        raise SystemExit("bench_recompiles: nothing was found to make dynamic")
    print(f"setting: {setting}", file=sys.stderr)
    for round_ in range(args.rounds):
        print(f"round {round_ + 1} of {args.rounds}", file=sys.stderr, flush=True)
        after.append(run(args.steps, setting))
        if round_ + 1 < args.rounds:
            before.append(run(args.steps, ""))
    middle = statistics.median
    ours, peer = middle(one.compiles for one in after), middle(one.compiles for one in before)
    row("recompiles", "compilations", ours, peer)
    row("recompiles_per_graph", "compilations", ours / after[0].graphs, peer / before[0].graphs)
    for name, unit in (("compile_s", "s"), ("wall_s", "s")):
        values = [middle(getattr(one, name) for one in runs) for runs in (after, before)]
        row(f"recompiles_{name}", unit, *values)


if __name__ == "__main__":
    main()
