"""What pins spare of autotuning, and whether they ever cost the winner.

    python bench/bench_autotune.py [--rounds 5] [--cpu-shapes 12]

Triton: two real kernels with twelve configurations each are cross-compiled to sm_80 cubins, fresh
cache, all configurations and the pinned ones in turns. No GPU is here: which configuration wins is
decided by a model of launch times (bench/autotune/kernels.py), so the rows about winners say
`modelled`. The compile times are real.

CPU: inductor times its C++ template against MKL for real, for linear layers of one class of shapes.
Half of the shapes make the pins, the other half is looked at: is what won there still kept?
Prints JSON lines."""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))
sys.path.insert(0, str(ROOT / "tests/shared"))

import triton_environment  # noqa: E402

Shapes = list[list[Any]]


def row(
    name: str, unit: str, ours: float, peer: float | None, peer_name: str | None, better: str
) -> None:
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": better}), flush=True)


def say(text: str) -> None:
    print(f"   {text}", file=sys.stderr, flush=True)


def tune(python: str, cache: Path, shapes: Shapes, *arguments: str) -> list[dict[str, Any]]:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache), "TRITON_CACHE_AUTOTUNING": "1"}
    environment.pop("PYTHONPATH", None)
    program = str(ROOT / "bench/autotune/tune.py")
    done = subprocess.run(
        [python, program, json.dumps(shapes), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def pins_of(*paths: Path, to: Path) -> Any:
    command = [BIN, "autotune", *map(str, paths), "--pins", str(to), "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def draw(seed: int, count: int) -> Shapes:
    """Shapes of one class of each kernel: 4096 … 8176 by 16."""
    rng = random.Random(seed)

    def size() -> int:
        return rng.randrange(4096, 8192, 16)

    matmuls = [["matmul", [size(), size(), size()]] for _ in range(count)]
    return matmuls + [["softmax", [size(), size()]] for _ in range(count)]


def triton(folder: Path, rounds: int) -> None:
    python = triton_environment.interpreter()
    say("Triton: shapes that make the pins")
    pins = folder / "triton_pins.py"
    tune(python, folder / "seen", draw(1, 24))
    pins_of(folder / "seen", to=pins)

    tries: dict[str, list[float]] = {"full": [], "pinned": []}
    for number in range(rounds):
        held_out = draw(100 + number, 1)
        for name, arguments in (("full", ()), ("pinned", ("--pins", str(pins)))):
            done = tune(python, folder / f"{name}{number}", held_out, *arguments)
            tries[name].append(sum(line["seconds"] for line in done))
            say(f"round {number}, {name}: {tries[name][-1]:.2f} s")
    ours, peer = (statistics.median(tries[name]) for name in ("pinned", "full"))
    row("autotune_cross_compile_s", "s", ours, peer, "all 12 configurations of 2 kernels", "lower")
    row("autotune_cross_compile_times", "x", peer / ours, None, None, "higher")

    # One process each: what is compiled once serves every shape of the class.
    held_out = draw(1000, 40)
    full = tune(python, folder / "heldout", held_out)
    pinned = tune(python, folder / "heldout_pinned", held_out, "--pins", str(pins))
    kept = [a["winner"] == b["winner"] for a, b in zip(full, pinned, strict=True)]
    row("autotune_modelled_winner_kept_pct", "%", 100 * statistics.mean(kept), None, None, "higher")
    lost = [
        a["times"][b["winner"]] / a["times"][a["winner"]] for a, b in zip(full, pinned, strict=True)
    ]
    row("autotune_modelled_slower_pct", "%", 100 * (max(lost) - 1), None, None, "lower")


CPU_SCRIPT = """
import sys, json, torch, torch._inductor.config as config
torch.set_num_threads(1)
config.freezing = config.max_autotune = True
config.autotune_num_choices_displayed = 0
for rows, inner, outer in json.loads(sys.argv[1]):
    torch._dynamo.reset()
    layer = torch.nn.Linear(inner, outer).eval()
    with torch.no_grad():
        torch.compile(layer, dynamic=False)(torch.randn(rows, inner))
"""


def cpu_run(folder: Path, job: str, shapes: list[list[int]], *options: str) -> list[dict[str, Any]]:
    script = folder / "cpu.py"
    script.write_text(CPU_SCRIPT)
    environment = {**os.environ, "HEADWAY_DIR": str(folder / "jobs")}
    environment["TORCHINDUCTOR_CACHE_DIR"] = str(folder / f"inductor-{job}")
    command = [BIN, "run", "-q", "--cold", "--python", sys.executable, "--job", job, *options]
    subprocess.run(
        [*command, str(script), json.dumps(shapes)],
        env=environment,
        check=True,
        stdout=sys.stderr,
    )
    lines: list[dict[str, Any]] = []
    for file in (folder / "jobs" / job).glob("*/autotune-*.jsonl"):
        lines += [json.loads(line) for line in file.read_text().splitlines()]
    return lines


def cpu(folder: Path, count: int) -> None:
    rng = random.Random(5)
    shapes = [
        [rng.randrange(low, 2 * low, 16) for low in (128, 256, 256)] for _ in range(2 * count)
    ]
    say(f"CPU: {count} shapes that make the pins, {count} others")
    cpu_run(folder, "seen", shapes[:count])
    pins = folder / "cpu_pins.py"
    pins_of(folder / "jobs/seen", to=pins)
    full = cpu_run(folder, "heldout", shapes[count:])
    pinned = cpu_run(folder, "pinned", shapes[count:], "--autotune-pins", str(pins))
    found = pins_of(folder / "jobs/seen", to=pins)
    keep = {c["shape"]: set(c["keep"]) for k in found["kernels"] for c in k["classes"]}
    sys.path.insert(0, os.environ.get("HEADWAY_PYTHON", str(ROOT / "build/python")))
    from headway import _pins

    kept, slower = [], []
    for line in full:
        times = dict(line["configs"])
        stays = keep.get(_pins.shape_class(line["key"]), set(times)) & set(times)
        kept.append(min(times, key=times.__getitem__) in stays)
        slower.append(min(times[text] for text in stays) / min(times.values()) - 1)
    row("autotune_cpu_winner_kept_pct", "%", 100 * statistics.mean(kept), None, None, "higher")
    row("autotune_cpu_slower_pct", "%", 100 * statistics.mean(slower), None, None, "lower")
    timed = [sum(len(line["configs"]) for line in lines) for lines in (pinned, full)]
    row("autotune_cpu_choices_timed", "choices", *timed, "without pins", "lower")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu-shapes", type=int, default=12)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        triton(Path(temporary), arguments.rounds)
        cpu(Path(temporary), arguments.cpu_shapes)


if __name__ == "__main__":
    main()
