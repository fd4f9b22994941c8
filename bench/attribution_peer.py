"""Attribution: Headway's streaming partition against ml-goodput-measurement's query.

The same job on both sides: N steps, a restart in the middle, a tenth of the steps repeated. Two
numbers for each N: `attribution_full`, the first answer over the whole log, and
`attribution_query`, the answer after one more step, which is what a live page asks for all day.

The peer is charged the processor time it used, ours the wall time. Its queries last seconds, so on
a busy machine their wall time is mostly waiting for a core, which our fraction of a millisecond
escapes: seen once, 59 s of wall for 2.7 s of work. So any error is to our disadvantage.

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


def theirs(steps: int) -> dict[str, float]:
    """The same for the peer, in processor time."""
    case = QueryCase(steps)
    try:
        entries = len(case.log.times)
        begin = time.process_time()
        case.query()
        full = time.process_time() - begin
        again = []
        for _ in range(QUERIES):
            case.add_step()
            begin = time.process_time()
            goodput = case.query()
            again.append(time.process_time() - begin)
            assert 0 < goodput < 100, goodput
        windows = []
        for index in range(QUERIES):
            begin = time.process_time()
            goodput = case.query_window(index)
            windows.append(time.process_time() - begin)
            assert 0 < goodput < 100, goodput
    finally:
        case.close()
    return {
        "full_s": full,
        "query_s": statistics.median(again),
        "window_us": statistics.median(windows) * 1e6,
        "events_per_s": entries / full,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="+", default=[10_000, 100_000, 300_000])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    for steps in args.steps:
        rounds = [(ours(steps), theirs(steps)) for _ in range(args.rounds)]
        own = medians([own for own, _ in rounds])
        peer = medians([peer for _, peer in rounds])
        name = f"{steps // 1000}k"
        emit(f"attribution_full_{name}", "s", own["full_s"], peer["full_s"])
        emit(f"attribution_query_{name}", "s", own["query_s"], peer["query_s"])
        emit(f"window_query_us_{name}", "µs", own["window_us"], peer["window_us"])
    # The largest log of the run. Ours are records, four a step; the peer's are entries, one a step.
    emit("attribution_events_per_s", "1/s", own["events_per_s"], peer["events_per_s"], "higher")
    emit("attribution_rss_growth", "MB", own["rss_growth_bytes"] / 1e6, None)


def medians(rows: list[dict[str, float]]) -> dict[str, float]:
    return {what: statistics.median(row[what] for row in rows) for what in rows[0]}


def emit(name: str, unit: str, own: float, peer: float | None, better: str = "lower") -> None:
    row = {"name": name, "unit": unit, "ours": own, "peer": peer, "better": better}
    print(json.dumps(row | {"peer_name": PEER if peer is not None else None}), flush=True)


if __name__ == "__main__":
    main()
