"""How fast events become durable and attributed: `headway serve` against what people use today.

Ours: a fleet of 128 machines with eight ranks each sends its journals over HTTP on loopback, one
batch a machine at a time (bench/ingest/load.cc, a program of its own); a batch is answered when it
is on the disk and its job is attributed. Sender and collector share the machine. Afterwards the
collector is killed, and started again, and every job's report has to be what a report on the same
journals says.

PostgreSQL: the same records, a row each, by binary COPY from two sessions, one transaction for
each session's all, into a table without an index; fsync on. Nothing is attributed.
ml-goodput-measurement: its recorder writes a line a step into a file, in two processes. Nothing is
attributed either.

The three take turns; a number is the median of the rounds. Prints one JSON row a line.
usage: bench_ingest.py [--rounds N] [--steps N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ingest.serving import LOAD, Served, missing, send, words_of
from peers.postgres import Postgres, programs

GOODPUT = "ml-goodput-measurement 0.2.3"
GOODPUT_STEPS = 100_000  # of each process: it takes a second or two


def ours(shape: dict[str, Any]) -> float:
    served = Served()
    try:
        told = send(served.port, shape)
        cpu_s = served.cpu_s()
        served.kill_and_start()
        wrong = missing(served, shape)
        assert not wrong, f"told differently: {wrong}"
        rate = told["events"] / told["seconds"]
        print(
            f"   {told['events']:,} events, {told['batches']:,} batches, {told['seconds']:.2f} s: "
            f"{rate:,.0f}/s; processor: collector {cpu_s:.2f} s, sender {told['cpu_s']:.2f} s; "
            f"{told['bytes'] / told['events']:.1f} bytes an event",
            file=sys.stderr,
        )
        return rate
    finally:
        served.close()


def theirs_goodput(folder: Path) -> float:
    script = Path(__file__).resolve().parent / "ingest/goodput_file.py"
    processes = [
        subprocess.Popen(
            [sys.executable, script, str(folder / f"goodput-{i}"), str(GOODPUT_STEPS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    took = [float(process.communicate()[0]) for process in processes]
    return len(took) * GOODPUT_STEPS / max(took)


def row(name: str, ours: float, peer: float | None, peer_name: str | None) -> None:
    told = {"name": name, "unit": "events/s", "ours": ours, "peer": peer}
    print(json.dumps(told | {"peer_name": peer_name, "better": "higher"}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2000)
    args = parser.parse_args()
    shape: dict[str, Any] = {"jobs": 16, "ranks": 64, "steps": args.steps, "step-ms": 100}
    shape["begin-ns"] = time.time_ns() - args.steps * 100_000_000
    rates: dict[str, list[float]] = {"ours": [], "postgres": [], "goodput": []}
    server = Postgres() if programs() else None
    with tempfile.TemporaryDirectory(prefix="hw-ingest-rows-") as text:
        folder = Path(text)
        try:
            files = [folder / f"rows-{i}" for i in range(2)]
            made = subprocess.run(
                [LOAD, "rows", *map(str, files), *words_of(shape)],
                check=True,
                stdout=subprocess.PIPE,
            )
            rows = json.loads(made.stdout)["rows"]
            for _ in range(args.rounds):
                rates["ours"].append(ours(shape))
                if server:
                    rates["postgres"].append(rows / server.copy_s(files))
                    assert int(server.sql("SELECT count(*) FROM event")) == rows
                    server.empty()
                rates["goodput"].append(theirs_goodput(folder))
        finally:
            if server:
                server.close()
    middle = {name: statistics.median(seen) if seen else None for name, seen in rates.items()}
    print(f"   {rates}", file=sys.stderr)
    assert middle["ours"] is not None
    row(
        "ingest_events_per_s",
        middle["ours"],
        middle["postgres"],
        "PostgreSQL COPY" if server else None,
    )
    row("ingest_events_per_s_goodput", middle["ours"], middle["goodput"], GOODPUT)


main()
