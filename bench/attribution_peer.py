"""Attribution: Headway's streaming partition against ml-goodput-measurement's query.

The same job on both sides: N steps, a restart in the middle, a tenth of the steps repeated. Two
numbers for each N: `attribution_full`, the first answer over the whole log, and
`attribution_query`, the answer after one more step, which is what a live page asks for all day.

The two sides take turns, round by round. The peer's log sits in memory and its cache in a local
folder, so no network is in its numbers. Prints one JSON row a line.
"""

import argparse
import json
import logging
import os
import statistics
import subprocess
import time
from pathlib import Path

from peers.goodput import QueryCase

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin/bench_attribution"
QUERIES = 3
PEER = "ml-goodput-measurement 0.2.3"


def ours(steps: int) -> dict[str, float]:
    """What bench_attribution measured: full_s, query_s, window_us, events_per_s, …"""
    done = subprocess.run(
        [PROGRAM, "--steps", str(steps)], check=True, capture_output=True, text=True
    )
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["steps"] == steps, row
    return row


def theirs(steps: int) -> tuple[float, float]:
    case = QueryCase(steps)
    try:
        begin = time.perf_counter()
        case.query()
        full = time.perf_counter() - begin
        again = []
        for _ in range(QUERIES):
            case.add_step()
            begin = time.perf_counter()
            goodput = case.query()
            again.append(time.perf_counter() - begin)
            assert 0 < goodput < 100, goodput
    finally:
        case.close()
    return full, statistics.median(again)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="+", default=[10_000, 100_000, 300_000])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    for steps in args.steps:
        rounds = [(ours(steps), theirs(steps)) for _ in range(args.rounds)]

        def own(what: str, rounds: list = rounds) -> float:
            return statistics.median(row[what] for row, _ in rounds)

        full = statistics.median(full for _, (full, _) in rounds)
        query = statistics.median(query for _, (_, query) in rounds)
        name = f"{steps // 1000}k"
        emit(f"attribution_full_{name}", "s", own("full_s"), full)
        emit(f"attribution_query_{name}", "s", own("query_s"), query)
        emit(f"window_query_us_{name}", "µs", own("window_us"), query * 1e6)
    # The largest log of the run; the peer's events are its entries, one a step.
    emit("attribution_events_per_s", "1/s", own("events_per_s"), steps / full, "higher")
    emit("attribution_rss_growth", "MB", own("rss_growth_bytes") / 1e6, None)


def emit(name: str, unit: str, own: float, peer: float | None, better: str = "lower") -> None:
    row = {"name": name, "unit": unit, "ours": own, "peer": peer, "better": better}
    print(json.dumps(row | {"peer_name": PEER if peer is not None else None}), flush=True)


if __name__ == "__main__":
    main()
