"""How long a compiled job takes to its first step on a machine that has never compiled it.

    python bench/bench_warm_start.py [--quick] [--model dlrm|transformer] [--rounds 5]

Forward, backward and optimizer are compiled. Every start has a cache directory, a home, a folder
for temporary files and so a precompiled header of its own: none. What all hosts have in common is
the key that archives are signed with. Variants take turns:

    cold      plain Python, nothing in any cache
    mega      plain Python that loads torch's own blob (torch.compiler.save_cache_artifacts)
    ours      `headway run --cold --cache SHELF`: no fork server
    restart   `headway run --cache SHELF` after a failure of the rank: forked

The first step is from the first call of the compiled model to the optimizer's end. The process is
from the start of the command (of `restart`: from the failure) to the same moment. Medians; prints
JSON lines. A variant whose losses differ from the cold ones ends the benchmark."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))
SCRIPT = ROOT / "bench/warm_start/train.py"
VARIANTS = ("cold", "mega", "ours", "restart")


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def row(name: str, ours: float, peer: float, peer_name: str) -> None:
    line = {"name": name, "unit": "s", "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": "lower"}), flush=True)


class Stage:
    def __init__(self, folder: Path, model: str) -> None:
        self.folder = folder
        self.model = model
        self.shelf = folder / "shelf"
        self.blob = folder / "blob"
        self.config = folder / "config"
        self.config.mkdir(parents=True, exist_ok=True)
        self.starts = 0
        self.losses: list[float] = []

    def environment(self, temporary: Path) -> dict[str, str]:
        dropped = ("TORCH", "HEADWAY", "XDG_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
        home = temporary / "home"
        home.mkdir()
        kept |= {"HOME": str(home), "XDG_CONFIG_HOME": str(self.config), "LOGNAME": "bench"}
        kept |= {"TMPDIR": str(temporary), "HEADWAY_DIR": str(temporary / "jobs")}
        return kept | {"HEADWAY_CACHE": "off"}

    def start(self, variant: str, *more: str) -> dict[str, Any]:
        """One start on a fresh host."""
        self.starts += 1
        temporary = self.folder / f"host-{self.starts}"
        temporary.mkdir()
        out = temporary / "out.json"
        script = [str(SCRIPT), "--model", self.model, "--out", str(out), *more]
        command = [sys.executable, *script]
        if variant == "mega":
            command += ["--load", str(self.blob)]
        if variant in ("ours", "restart"):
            run = [BIN, "run", "-q", "--python", sys.executable, "--cache", str(self.shelf)]
            run += ["--attr", f"family=bench-{self.model}"]
            if variant == "ours":
                command = [*run, "--cold", *script]
            else:
                command = [*run, "--max-restarts", "1", "--retry-all", *script, "--die-once"]
        environment = self.environment(temporary)
        environment["BENCH_BEGAN_NS"] = str(time.monotonic_ns())
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise SystemExit(f"bench: {variant} failed:\n{done.stdout}\n{done.stderr}")
        found = json.loads(out.read_text())
        shutil.rmtree(temporary)
        self.losses = self.losses or found["losses"]
        if found["losses"] != self.losses:
            raise SystemExit(f"bench: {variant} trains otherwise: {found['losses']}")
        return found

    def prepare(self) -> None:
        say(f"{self.model}: a first job each, for the blob and for the shelf")
        self.start("cold", "--save", str(self.blob))
        self.start("ours")
        archives = list(self.shelf.rglob("*.hwc"))
        if not archives:
            raise SystemExit("bench: the first job has put nothing on the shelf")


def measure(stage: Stage, rounds: int) -> None:
    stage.prepare()
    times: dict[str, dict[str, list[float]]] = {
        variant: {"first_step_s": [], "process_s": []} for variant in VARIANTS
    }
    for number in range(rounds):
        shift = number % len(VARIANTS)
        for variant in VARIANTS[shift:] + VARIANTS[:shift]:
            found = stage.start(variant)
            for what, taken in times[variant].items():
                taken.append(found[what])
            say(
                f"{stage.model}: {variant}: first step {found['first_step_s']:.2f} s, "
                f"process {found['process_s']:.2f} s"
            )
    medians = {
        variant: {what: statistics.median(taken) for what, taken in both.items()}
        for variant, both in times.items()
    }
    cold, mega, ours, restart = (medians[variant] for variant in VARIANTS)
    blob, nothing = "torch's MegaCache blob", "nothing in any cache"
    name = stage.model
    row(f"warm_first_step_s_{name}", ours["first_step_s"], mega["first_step_s"], blob)
    row(f"warm_first_step_vs_cold_s_{name}", ours["first_step_s"], cold["first_step_s"], nothing)
    row(f"warm_process_s_{name}", ours["process_s"], mega["process_s"], blob)
    row(f"warm_restart_first_step_s_{name}", restart["first_step_s"], mega["first_step_s"], blob)
    row(f"warm_restart_process_s_{name}", restart["process_s"], mega["process_s"], blob)


def main() -> None:
    parser = argparse.ArgumentParser(description="Starts with a compile cache, side by side.")
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--model", choices=("dlrm", "transformer"), help="one of the two")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    for model in [args.model] if args.model else ["dlrm", "transformer"]:
        with tempfile.TemporaryDirectory(prefix="headway-warm-") as folder:
            measure(Stage(Path(folder), model), 1 if args.quick else args.rounds)


if __name__ == "__main__":
    main()
