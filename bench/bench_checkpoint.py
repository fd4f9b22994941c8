"""What a checkpoint costs until it is durable, and how long the way back takes.

    python bench/bench_checkpoint.py [--quick] [--parts losing,restoring,dense,tables]

`ckpt_delta_eff_s`: blocking plus the slow-down of steps until durable, for 2 GiB of parameters and
Adam state, and for 4 GiB of embedding tables of whose rows 1% are touched in a step; peers and what
the machine can do at best take turns with us, each in a process of its own. `ckpt_block_ms`: of
that the blocking, beside a copy of the same bytes by two threads between warm memories.
`ckpt_durable_s`: nothing else running, beside the same bytes written past the page cache.
`restore_s`: into an initialised model, from disk with a cold cache, and from the replica after
SIGKILL. `steps_lost`: by SIGKILL at any moment. Prints JSON lines; progress goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import random
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
OTHERS = [
    "dcp.save",
    "dcp.async_save-process",
    "torch.save",
    "safetensors",
    "torch_checkpointing",
]
ROUNDS = 3
SAVES = 2  # in a round of ours
SAVES_ROWS = 6  # so that a whole image is among them: some 11% of the rows change between two
PARTS = ["losing", "restoring", "dense", "tables"]
LIMITS = "limits"
MEMORY = f"/dev/shm/headway-bench-{os.getpid()}"

Found = dict[str, list[dict[str, Any]]]  # readings, by the engine's name


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def row(name: str, unit: str, ours: float, peer: float | None, peer_name: str | None) -> None:
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": "lower"}), flush=True)


def run(script: str, *arguments: object, killed: bool = False) -> Any:
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "HEADWAY_DISABLE": "1", "HEADWAY_REPLICA_DIR": MEMORY},
    )
    if killed:
        return {}
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        raise SystemExit(
            f"bench_checkpoint: {script} {arguments} ended with {done.returncode}: {last}"
        )
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


def limits(gib: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        found: dict[str, Any] = run("limits.py", gib, folder)
    say(f"  at best: a copy {found['copy_s'] * 1e3:.0f} ms, O_DIRECT {found['write_s']:.2f} s")
    return found


def if_it_runs(engine: str, workload: str, gib: float, between: int) -> list[dict[str, Any]]:
    """A package may not be there."""
    try:
        return [save_once(engine, workload, gib, 1, between)]
    except SystemExit as error:
        say(f"  {engine} {workload}: {error}")
        return []


def turns(number: int, rounds: int, ours: dict[str, int]) -> list[str]:
    """Who reads in this round, and in which order. All that targets are about in every round; each
    of the other peers in one of them. In each round another one begins."""
    names = [*ours, MAIN_PEER, LIMITS, *OTHERS[number::rounds]]
    begin = number % len(names)
    return names[begin:] + names[:begin]


def read_rounds(
    workload: str, gib: float, between: int, ours: dict[str, int], rounds: int
) -> Found:
    found: Found = {name: [] for name in (*ours, MAIN_PEER, LIMITS, *OTHERS)}
    for number in range(rounds):
        for name in turns(number, rounds, ours):
            if name == LIMITS:
                found[name].append(limits(gib))
            elif name in OTHERS:
                found[name] += if_it_runs(name, workload, gib, between)
            else:
                found[name].append(save_once(name, workload, gib, ours.get(name, 1), between))
    return found


def compare(workload: str, engine: str, suffix: str, found: Found) -> None:
    ours, peers = found[engine], found[MAIN_PEER]
    for key, name, unit, scale in (
        ("delta_eff_s", "ckpt_delta_eff_s", "s", 1.0),
        ("block_s", "ckpt_block_ms", "ms", 1e3),
    ):
        mine, theirs = middle(ours, key) * scale, middle(peers, key) * scale
        row(f"{name}_{workload}{suffix}", unit, mine, theirs, MAIN_PEER)
    say(f"  {engine} {workload}: {middle(ours, 'delta_eff_s') / middle(peers, 'delta_eff_s'):.3f}")
    for other in filter(found.get, OTHERS):
        mine, theirs = middle(ours, "delta_eff_s"), middle(found[other], "delta_eff_s")
        row(f"ckpt_delta_eff_s_{workload}{suffix}_{other}", "s", mine, theirs, other)


def beside_limits(workload: str, ours: Any, limit: Any) -> None:
    mine, best = middle(ours, "block_s") * 1e3, middle(limit, "copy_s") * 1e3
    row(f"ckpt_block_of_copy_{workload}", "ms", mine, best, "a copy by two threads")
    mine, best = middle(ours, "durable_idle_s"), middle(limit, "write_s")
    row(f"ckpt_durable_s_{workload}", "s", mine, best, "the same with O_DIRECT")


def saving(quick: bool, workloads: list[str]) -> None:
    rounds = 1 if quick else ROUNDS
    between = 20
    if "dense" in workloads:
        gib = 0.25 if quick else 2.0
        found = read_rounds("dense", gib, between, {"headway": SAVES}, rounds)
        compare("dense", "headway", "", found)
        beside_limits("dense", found["headway"], found[LIMITS])
        stream = save_once("headway-stream", "dense", gib, 1, 2)
        row("ckpt_stream_memory_mib", "MiB", stream["memory_mib"], None, None)
    if "tables" in workloads:
        gib = 0.25 if quick else 4.0
        ours = {"headway": SAVES, "headway-rows": SAVES_ROWS}
        found = read_rounds("tables", gib, between, ours, rounds)
        compare("tables", "headway", "_full", found)
        compare("tables", "headway-rows", "_rows", found)
        beside_limits("tables", found["headway"], found[LIMITS])
        of_rows(gib, found["headway-rows"], found[MAIN_PEER])


def of_rows(gib: float, ours: Any, peers: Any) -> None:
    """Beside what compare() says of them: by rows touched, and with whole images in between."""
    for_a_million = []
    for suffix, key, touched in (
        ("", "block_after_a_step_s", "touched_of_a_step"),
        ("_between", "block_s", "touched_between"),
    ):
        block_ms, rows = middle(ours, key) * 1e3, middle(ours, touched)
        row(f"ckpt_rows_block_ms_per_gib{suffix}", "ms", block_ms / gib, None, None)
        row(f"ckpt_rows_touched{suffix}", "%", rows / middle(ours, "rows") * 100, None, None)
        for_a_million.append(block_ms / rows * 1e6)
    of_a_step, of_many = for_a_million
    row("ckpt_rows_block_ms_per_million", "ms", of_many, of_a_step, "the same after one step")
    wholes = sum(one["wholes"] for one in ours)
    say(f"  headway-rows: {wholes} whole images among {len(ours) * SAVES_ROWS} saves")
    if not wholes:
        say("  no mean of saves by rows: raise SAVES_ROWS")
        return
    mine, theirs = (statistics.mean(one["delta_eff_mean_s"] for one in of) for of in (ours, peers))
    row("ckpt_delta_eff_s_tables_rows_mean", "s", mine, theirs, MAIN_PEER)


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


def restore_once(engine: str, gib: float, memory: bool) -> dict[str, float]:
    folder = Path(tempfile.mkdtemp(dir=ROOT / "build"))
    try:
        run("restore_worker.py", "save", engine, gib, folder, killed=True)
        if not memory:
            end_holder()
        drop_from_cache(folder)
        took = run("restore_worker.py", "load", engine, gib, folder)
        where = "memory" if memory else "disk"
        say(
            f"  restore by {engine}, {where}: {took['restore_s']:.3f} s, "
            f"first step {took['first_step_s']:.3f} s"
        )
        return took
    finally:
        end_holder()
        shutil.rmtree(folder, ignore_errors=True)


def restoring(quick: bool) -> None:
    gib = 0.25 if quick else 2.0
    times: dict[str, list[dict[str, float]]] = {}
    for _ in range(1 if quick else ROUNDS):
        for name, engine, memory in (
            ("replica", "headway", True),
            ("unsure", "headway-unsure", True),
            ("memory", "headway-memory", True),
            ("disk", "headway", False),
            ("dcp", "dcp", False),
            ("torch", "torch", False),
        ):
            times.setdefault(name, []).append(restore_once(engine, gib, memory))

    def found(name: str) -> float:
        return middle(times[name], "restore_s")

    def with_a_step(name: str) -> float:
        return statistics.median(each["restore_s"] + each["first_step_s"] for each in times[name])

    row("restore_s_disk", "s", found("disk"), found("dcp"), "dcp.load, cold cache")
    for peer, suffix in (("torch", ""), ("dcp", "_dcp")):
        ours, theirs = found("replica") / gib, found(peer) / gib
        row(f"restore_s_replica_per_gib{suffix}", "s", ours, theirs, f"{peer}.load")
    ours, theirs = found("unsure") / gib, found("torch") / gib
    row("restore_s_replica_unsure_per_gib", "s", ours, theirs, "torch.load")
    for name, suffix in (("replica", "replica"), ("memory", "memory_only")):
        row(
            f"restore_and_step_s_{suffix}",
            "s",
            with_a_step(name),
            with_a_step("torch"),
            "torch.load",
        )


def lost_once(engine: str, choice: random.Random) -> int:
    """Steps that were done and are not in what a restart finds, after SIGKILL at any moment."""
    folder = Path(tempfile.mkdtemp(dir=ROOT / "build"))
    diary = folder / "diary"
    command = [sys.executable, str(FOLDER / "lost_worker.py")]
    environment = {**os.environ, "HEADWAY_DISABLE": "1", "HEADWAY_REPLICA_DIR": MEMORY}
    end = choice.randrange(45, 85)
    try:
        with subprocess.Popen(
            [*command, "train", engine, str(folder)], env=environment, stderr=subprocess.DEVNULL
        ) as trainer:
            while not diary.exists() or len(diary.read_text().split()) < end:
                time.sleep(0.001)
            trainer.kill()
        done = int(diary.read_text().split()[-1])
        found = run("lost_worker.py", "look", engine, folder)
        say(f"  {engine}: killed after step {done}, goes on after {found}")
        return done - int(found)
    finally:
        end_holder()
        shutil.rmtree(folder, ignore_errors=True)


def losing(quick: bool) -> None:
    choice = random.Random(1)
    lost: dict[str, list[int]] = {"headway": [], "dcp": []}
    for _ in range(1 if quick else 5):
        for engine, steps in lost.items():
            steps.append(lost_once(engine, choice))
    ours, theirs = (statistics.mean(steps) for steps in lost.values())
    row("steps_lost", "steps", ours, theirs, "dcp.async_save every 20 steps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small and once, to see that it runs")
    parser.add_argument("--parts", default=",".join(PARTS), help="of these (%(default)s)")
    arguments = parser.parse_args()
    quick, parts = arguments.quick, arguments.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"--parts: {', '.join(sorted(unknown))} is none of {', '.join(PARTS)}")
    try:
        if "losing" in parts:
            losing(quick)
        if "restoring" in parts:
            restoring(quick)
        saving(quick, parts)
    finally:
        shutil.rmtree(MEMORY, ignore_errors=True)


if __name__ == "__main__":
    main()
