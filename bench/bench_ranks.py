"""Ten thousand ranks that report once a second: whether one collector keeps up, and what it takes.

100 jobs of 100 ranks, eight ranks a machine: 1,300 machines, each with a connection of its own and
a batch a second (bench/ingest/load.cc), for ten minutes. Meanwhile what a page asks is asked
three times a second each. A time is from when a batch was due to its answer. And every two seconds
one job more begins, of one rank: how long from its first event until `/api/v1/jobs` has it. At the
end every job's report has to be what a report on the same journals says. No peer does this.

Prints one JSON row a line. usage: bench_ranks.py [--seconds N]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from typing import Any

from ingest.serving import Served, missing, send

PAGES = {
    "jobs": "/api/v1/jobs",
    "report": "/api/v1/jobs/%/report",
    "timeline": "/api/v1/jobs/%/timeline",
    "rollup": "/api/v1/fleet/rollup?by=family",
    "trend": "/api/v1/fleet/trend?by=family",
    "losses": "/api/v1/fleet/losses",
    "failures": "/api/v1/fleet/failures",
    "hosts": "/api/v1/fleet/hosts",
    "waterfall": "/api/v1/fleet/waterfall?metric=ett_pct",
    "regressions": "/api/v1/regressions",
}
ASKS_PER_S = 3  # of each


def sync_ms() -> dict[str, float]:
    """What the disk takes for 64 KiB, beside us: without it a slow answer says nothing."""
    path = f"{os.environ.get('TMPDIR', '/tmp')}/hw-sync-{os.getpid()}"
    taken = []
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    try:
        for i in range(200):
            os.pwrite(fd, b"x" * 65536, i * 65536)
            begin = time.monotonic()
            os.fdatasync(fd)
            taken.append((time.monotonic() - begin) * 1000)
    finally:
        os.close(fd)
        os.unlink(path)
    taken.sort()
    return {"p50": taken[100], "p99": taken[197]}


def row(name: str, unit: str, ours: float) -> None:
    told = {"name": f"ranks_10000_{name}", "unit": unit, "ours": ours}
    print(json.dumps(told | {"peer": None, "peer_name": None, "better": "lower"}), flush=True)


def seconds_until_shown(served: Served, over: threading.Event, out: list[float]) -> None:
    """Of small jobs that begin meanwhile; their sender sends ten times a second."""
    while not over.wait(2):
        name, begin_ns = f"shown{len(out)}", time.time_ns()
        shape = {"jobs": 1, "ranks": 1, "steps": 2, "step-ms": 100}
        shape |= {"prefix": name, "begin-ns": begin_ns}
        sender = threading.Thread(target=send, args=(served.port, shape, "--every-ms", "100"))
        sender.start()
        while not served.get(f"/api/v1/jobs?text={name}-")["jobs"]:
            time.sleep(0.02)
        out.append((time.time_ns() - begin_ns) / 1e9)
        sender.join()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=600)
    args = parser.parse_args()
    shape: dict[str, Any] = {"jobs": 100, "ranks": 100, "steps": args.seconds, "step-ms": 1000}
    disk = sync_ms()
    served = Served()
    try:
        shape["begin-ns"] = time.time_ns()
        words = [word for page in PAGES.values() for word in ("--ask", page)]
        words += ["--asks-per-s", str(ASKS_PER_S)]
        over, shown = threading.Event(), list[float]()
        watcher = threading.Thread(target=seconds_until_shown, args=(served, over, shown))
        watcher.start()
        try:
            told = send(served.port, shape, "--every-ms", "1000", *words)
        finally:
            over.set()
            watcher.join()
        memory_mib, cpu_s = served.memory_mib(), served.cpu_s()
        wrong = missing(served, shape)
    finally:
        served.close()
    asked = told["asked"]
    print(
        f"   disk: a sync of 64 KiB takes {disk['p50']:.1f} ms, 1% over {disk['p99']:.1f} ms\n"
        f"   {told['events']:,} events in {told['batches']:,} batches; processor: collector "
        f"{cpu_s / told['seconds']:.2f}, sender {told['cpu_s'] / told['seconds']:.2f} of a core; "
        f"the sender was late by {told['lag']['p99_ms']:.1f} ms (99%)\n"
        f"   ingest {told['ingest']}\n   asked {asked}\n"
        f"   {len(shown)} jobs that began meanwhile were shown after {sorted(shown)[0]:.2f} to "
        f"{max(shown):.2f} s",
        file=sys.stderr,
    )
    assert all(page["errors"] == 0 and page["count"] > 0 for page in asked.values()), asked
    row("ingest_p99_ms", "ms", told["ingest"]["p99_ms"])
    for name, page in PAGES.items():
        row(f"{name}_p99_ms", "ms", asked[page]["p99_ms"])
    row("page_p99_ms", "ms", max(page["p99_ms"] for page in asked.values()))
    shown.sort()
    row("shown_p99_s", "s", shown[min(len(shown) * 99 // 100, len(shown) - 1)])
    row("memory_mib", "MiB", memory_mib)
    row("jobs_told_wrong", "jobs", len(wrong))


main()
