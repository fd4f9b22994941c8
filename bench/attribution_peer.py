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


def ours(steps: int) -> tuple[float, float]:
    """(full, query) seconds, as bench_attribution measured them."""
    done = subprocess.run(
        [PROGRAM, "--steps", str(steps)], check=True, capture_output=True, text=True
    )
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["steps"] == steps, row
    return row["full_s"], row["query_s"]


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
        for index, what in enumerate(("full", "query")):
            row = {
                "name": f"attribution_{what}_{steps // 1000}k",
                "unit": "s",
                "ours": statistics.median(own[index] for own, _ in rounds),
                "peer": statistics.median(peer[index] for _, peer in rounds),
                "peer_name": PEER,
                "better": "lower",
            }
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
