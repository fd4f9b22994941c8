"""What it costs that how far a job is attributed is stored nowhere (docs/postgres.md): a collector
that was restarted reads the batches of a job again, and attributes them, before it can tell of it.

One job of five million events, 64 ranks, is sent to `headway serve`, on SQLite and on PostgreSQL.
The collector is killed and started again: the seconds from its start until it has answered with
the job's report, which has to be the one of before. The median of the rounds. No peer does this.

Prints one JSON row a line. usage: bench_restart.py [--rounds N] [--steps N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

from ingest.serving import Served, send
from peers.postgres import Postgres, programs

STEPS = 19_400  # of each rank: five million events


def told_again_s(store: str, steps: int, rounds: int) -> float:
    shape: dict[str, Any] = {"jobs": 1, "ranks": 64, "steps": steps, "step-ms": 100}
    shape["begin-ns"] = time.time_ns() - steps * 100_000_000
    served = Served(store)
    try:
        sent = send(served.port, shape)
        before = served.get("/api/v1/jobs/load-0000/report")
        assert before["steps"]["finished"] == steps, before["steps"]
        took, listened, cpu = list[float](), list[float](), list[float]()
        for _ in range(rounds):
            served.process.kill()
            served.process.wait()
            begin_s = time.monotonic()
            served.start()
            listened.append(time.monotonic() - begin_s)
            after = served.get("/api/v1/jobs/load-0000/report")
            took.append(time.monotonic() - begin_s)
            cpu.append(served.cpu_s())
            assert after == before, "told differently after a restart"
        print(
            f"   {'PostgreSQL' if store else 'SQLite'}: {sent['events']:,} events in "
            f"{sent['batches']:,} batches, told again after {rounded(took)} s, {rounded(listened)} "
            f"of them until it listens; processor of the collector {rounded(cpu)} s",
            file=sys.stderr,
        )
        return statistics.median(took)
    finally:
        served.close()


def rounded(seconds: list[float]) -> str:
    return ", ".join(f"{each:.2f}" for each in seconds)


def row(name: str, ours: float) -> None:
    told = {"name": name, "unit": "s", "ours": ours, "peer": None, "peer_name": None}
    print(json.dumps(told | {"better": "lower"}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=STEPS)
    args = parser.parse_args()
    row("restart_5m_events_s", told_again_s("", args.steps, args.rounds))
    if not programs():
        return
    server = Postgres()
    try:
        url = server.database_url("headway")
        row("restart_5m_events_s_postgres", told_again_s(url, args.steps, args.rounds))
    finally:
        server.close()


main()
