"""What a checkpoint costs until it is durable, and how long the way back takes.

    python bench/bench_checkpoint.py [--quick]

`ckpt_delta_eff_s`: blocking plus the slow-down of steps until durable, for 2 GiB of parameters and
Adam state, and for 4 GiB of embedding tables of whose rows 1% are touched in a step; peers take
turns with us, each in a process of its own. `ckpt_block_ms`: of that the blocking, beside a copy of
the same bytes by two threads between warm memories. `ckpt_durable_s`: nothing else running, beside
the same bytes written past the page cache. `restore_s`: into an initialised model, from disk with a
cold cache, and from the replica after SIGKILL. Prints JSON lines; progress goes to stderr.
"""

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
FOLDER = ROOT / "bench" / "checkpoint"
MAIN_PEER = "dcp.async_save"
OTHERS = ["dcp.save", "torch.save", "safetensors"]
MEMORY = f"/dev/shm/headway-bench-{os.getpid()}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def row(name: str, unit: str, ours: float, peer: float | None, peer_name: str | None) -> None:
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": "lower"}), flush=True)


def run(script: str, *arguments: object, killed: bool = False) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "HEADWAY_DISABLE": "1", "HEADWAY_REPLICA_DIR": MEMORY},
    )
    if killed:
        return {}
    if done.returncode != 0:
        raise SystemExit(f"bench_checkpoint: {script} {arguments} ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def save_once(engine: str, workload: str, gib: float, saves: int, between: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        result = run("save_worker.py", engine, workload, gib, folder, saves, between)
    say(
        f"  {engine} {workload}: delta_eff {result['delta_eff_s']:.3f} s, "
        f"block {result['block_s'] * 1e3:.0f} ms, durable {result['durable_s']:.2f} s"
    )
    return result


def middle(results: list[dict[str, Any]], key: str) -> float:
    return statistics.median(result[key] for result in results)


def saving(quick: bool) -> None:
    for workload, gib, between in (("dense", 2.0, 8), ("tables", 4.0, 20)):
        if quick:
            gib = 0.25
        ours, peers = [], []
        for _ in range(1 if quick else 3):
            ours.append(save_once("headway", workload, gib, 2, between))
            peers.append(save_once(MAIN_PEER, workload, gib, 2, between))
        for key, name, unit, scale in (
            ("delta_eff_s", "ckpt_delta_eff_s", "s", 1.0),
            ("block_s", "ckpt_block_ms", "ms", 1e3),
        ):
            mine, theirs = middle(ours, key) * scale, middle(peers, key) * scale
            row(f"{name}_{workload}", unit, mine, theirs, MAIN_PEER)
        for other in OTHERS:
            result = save_once(other, workload, gib, 1, between)
            mine = middle(ours, "delta_eff_s")
            name = f"ckpt_delta_eff_s_{workload}_{other}"
            row(name, "s", mine, result["delta_eff_s"], other)
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            limit = run("limits.py", gib, folder)
        row(
            f"ckpt_block_of_copy_{workload}",
            "ms",
            middle(ours, "block_s") * 1e3,
            limit["copy_s"] * 1e3,
            "a copy of the bytes by two threads",
        )
        row(
            f"ckpt_durable_s_{workload}",
            "s",
            middle(ours, "durable_idle_s"),
            limit["write_s"],
            "the bytes written with O_DIRECT",
        )


def drop_from_cache(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def end_holder() -> None:
    """It writes what it has, and is gone with its memory."""
    while subprocess.run(["pkill", "-f", f"ckpt hold {MEMORY}"], check=False).returncode == 0:
        time.sleep(0.05)


def restore_once(engine: str, gib: float, memory: bool) -> float:
    folder = Path(tempfile.mkdtemp(dir=ROOT / "build"))
    try:
        run("restore_worker.py", "save", engine, gib, folder, killed=True)
        if not memory:
            end_holder()
        drop_from_cache(folder)
        seconds = run("restore_worker.py", "load", engine, gib, folder)["restore_s"]
        say(f"  restore by {engine}, {'memory' if memory else 'disk'}: {seconds:.3f} s")
        return seconds
    finally:
        end_holder()
        shutil.rmtree(folder, ignore_errors=True)


def restoring(quick: bool) -> None:
    gib = 0.25 if quick else 2.0
    times: dict[str, list[float]] = {}
    for _ in range(1 if quick else 3):
        for name, engine, memory in (
            ("replica", "headway", True),
            ("disk", "headway", False),
            ("dcp", "dcp", False),
            ("torch", "torch", False),
        ):
            times.setdefault(name, []).append(restore_once(engine, gib, memory))
    found = {name: statistics.median(all_) for name, all_ in times.items()}
    row("restore_s_disk", "s", found["disk"], found["dcp"], "dcp.load, cold cache")
    row(
        "restore_s_replica_per_gib", "s", found["replica"] / gib, found["torch"] / gib, "torch.load"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small and once, to see that it runs")
    quick = parser.parse_args().quick
    try:
        restoring(quick)
        saving(quick)
    finally:
        shutil.rmtree(MEMORY, ignore_errors=True)


if __name__ == "__main__":
    main()
