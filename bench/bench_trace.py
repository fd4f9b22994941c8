"""How fast a TORCH_TRACE log is read, and with how much memory.

    python bench/bench_trace.py [--mb 120] [--big-mb 1000] [--rounds 5] [--real DIR]

The log is of real models (trace/models.py), grown to size (trace/grow.py). Peer: tlparse, which
always writes its report. Ours twice: all that is known as JSON (`--json`), and the report with
every payload (`--html`). Reports are written to the disk and, once more, into memory, which has no
file system to wait for. All on one core, taking turns, charged processor time, their own and the
kernel's: the work is one thread's on either side. Wall time goes to stderr. The report of a large
log is opened by a real Chromium (trace/opened.py). Prints JSON lines.
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

ROOT = Path(__file__).resolve().parents[1]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))
TOOLS = ROOT / "bench" / "trace"
PEER = "tlparse 0.4.3"
MEMORY = "/dev/shm"


def row(name: str, unit: str, ours: float, peer: float | None, better: str) -> None:
    peer_name = PEER if peer is not None else None
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": better}), flush=True)


class Run:
    """A program on one core, to its end."""

    def __init__(self, *command: object) -> None:
        core = str(min(os.sched_getaffinity(0)))
        begin = time.monotonic()
        process = subprocess.Popen(
            ["taskset", "-c", core, *map(str, command)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"bench_trace: {command[0]} ended with {process.returncode}")
        self.wall_s = time.monotonic() - begin
        self.cpu_s = used.ru_utime + used.ru_stime
        self.rss_mb = used.ru_maxrss * 1024 / 1e6


def find_peer() -> str:
    given = os.environ.get("TLPARSE") or str(Path(sys.executable).parent / "tlparse")
    found = shutil.which(given) or shutil.which("tlparse")
    if not found:
        sys.exit("bench_trace: tlparse is not installed (requirements/dev.txt)")
    return found


def compile_models(folder: Path) -> Path:
    print("compiling real models, some minutes", file=sys.stderr)
    real = folder / "real"
    own = {
        "TORCH_TRACE": str(real),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, str(TOOLS / "models.py")]
    subprocess.run(command, check=True, env=os.environ | own, stdout=subprocess.DEVNULL)
    return real


def grow(real: Path, target: Path, megabytes: int) -> Path:
    # By a process of its own: what this one has in memory would count as its children's.
    command = [sys.executable, TOOLS / "grow.py", real, target, megabytes]
    subprocess.run([str(part) for part in command], check=True)
    return target


def measure(log: Path, folder: Path, rounds: int) -> None:
    peer = find_peer()
    runs: dict[str, list[Run]] = {
        name: [] for name in ("json", "html", "tlparse", "html_memory", "tlparse_memory")
    }
    for _ in range(rounds):
        runs["json"].append(Run(BIN, "trace", log, "--json"))
        for kind, where in (("", folder), ("_memory", MEMORY)):
            with tempfile.TemporaryDirectory(dir=where) as made:
                runs["html" + kind].append(Run(BIN, "trace", log, "--html", f"{made}/html"))
                to = ["-o", f"{made}/tlparse", "--overwrite", "--no-browser"]
                runs["tlparse" + kind].append(Run(peer, log, *to))
    megabytes = log.stat().st_size / 1e6
    speed = {}
    for name, found in runs.items():
        speed[name] = megabytes / statistics.median(one.cpu_s for one in found)
        told = ", ".join(f"{one.cpu_s:.2f} ({one.wall_s:.2f})" for one in found)
        print(f"{name}: processor (wall) s: {told}", file=sys.stderr)
    row("trace_parse_mb_per_s", "MB/s", speed["json"], speed["tlparse"], "higher")
    row("trace_html_mb_per_s", "MB/s", speed["html"], speed["tlparse"], "higher")
    in_memory = speed["html_memory"], speed["tlparse_memory"]
    row("trace_html_memory_mb_per_s", "MB/s", *in_memory, "higher")
    rss = {name: max(one.rss_mb for one in found) for name, found in runs.items()}
    row("trace_rss_mb", "MB", max(rss["json"], rss["html"]), rss["tlparse"], "lower")


def opened_ms(index: Path, rounds: int) -> list[float]:
    command = [sys.executable, TOOLS / "opened.py", index, rounds]
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def measure_big(log: Path, folder: Path, rounds: int) -> None:
    run = [Run(BIN, "trace", log, "--json"), Run(BIN, "trace", log, "--html", folder / "big")]
    told = ", ".join(f"{one.cpu_s:.2f} s ({one.wall_s:.2f})" for one in run)
    print(f"{log.stat().st_size / 1e6:.0f} MB, --json and --html: {told}", file=sys.stderr)
    row("trace_big_rss_mb", "MB", max(one.rss_mb for one in run), None, "lower")
    size = sum((folder / "big" / name).stat().st_size for name in ("index.html", "compiles.js"))
    row("trace_big_index_mb", "MB", size / 1e6, None, "lower")
    times = opened_ms(folder / "big/index.html", rounds)
    print(f"opened: {', '.join(f'{one:.0f}' for one in times)} ms", file=sys.stderr)
    row("trace_big_index_ms", "ms", statistics.median(times), None, "lower")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=int, default=120)
    parser.add_argument("--big-mb", type=int, default=1000, help="0: none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--real", type=Path, help="a folder of real logs (default: makes some)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        real = arguments.real or compile_models(folder)
        measure(grow(real, folder / "trace.log", arguments.mb), folder, arguments.rounds)
        if arguments.big_mb:
            big = grow(real, folder / "big.log", arguments.big_mb)
            measure_big(big, folder, arguments.rounds)


if __name__ == "__main__":
    main()
