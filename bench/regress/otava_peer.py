"""Apache Otava on series that `bench_regress_detectors --write` has written.

    python bench/regress/otava_peer.py FILE --series 60 --p 1e-3 1e-4

Run by the Python of an environment that has apache-otava (bench/bench_regress.py makes it). Each
series is analysed day by day, as a daily check would, with Otava's defaults but for the p-value.
A rise among the newest 28 days is an alarm. Prints JSON lines like bench_regress_detectors'.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from otava.analysis import compute_change_points

# As bench/regress/weigh.h has them.
DAYS, CHANGE_DAY, FIRST_ASKED, FRESH_DAYS, QUIET_DAYS = 60, 50, 30, 28, 7


def alarms(days: list[int], values: list[float], p: float, asked: range) -> list[bool]:
    """For each day that is asked about: does Otava see a recent rise?"""
    out = []
    for today in asked:
        cells = sum(day <= today for day in days)
        points, _ = compute_change_points(values[:cells], max_pvalue=p)
        out.append(
            any(c.index + FRESH_DAYS >= cells and c.stats.mean_2 > c.stats.mean_1 for c in points)
        )
    return out


def new_alarms(row: list[bool]) -> int:
    count, quiet = 0, QUIET_DAYS
    for loud in row:
        count += loud and quiet >= QUIET_DAYS
        quiet = 0 if loud else quiet + 1
    return count


def judge(series: list[dict[str, Any]], p: float) -> dict[str, float]:
    if series[0]["effect"] == 0:
        rows = [alarms(s["day"], s["value"], p, range(FIRST_ASKED, DAYS)) for s in series]
        asked = len(rows) * (DAYS - FIRST_ASKED)
        return {"false_per_1000": 1000 * sum(map(new_alarms, rows)) / asked}
    rows = [alarms(s["day"], s["value"], p, range(CHANGE_DAY - 1, CHANGE_DAY + 3)) for s in series]
    return {
        f"recall_{within}": sum(not row[0] and any(row[1 : 1 + within]) for row in rows) / len(rows)
        for within in (1, 2, 3)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--series", type=int, default=60, help="of each scenario and seed")
    parser.add_argument("--p", type=float, nargs="+", default=[1e-3])
    args = parser.parse_args()
    groups: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for line in args.file.read_text().splitlines():
        row = json.loads(line)
        group = groups[row["scenario"], row["seed"]]
        if len(group) < args.series:
            group.append(row)
    for (scenario, seed), series in groups.items():
        for p in args.p:
            row = {"detector": f"Otava p={p:g}", "scenario": scenario, "seed": seed}
            print(json.dumps(row | {"threshold": p} | judge(series, p)), flush=True)


if __name__ == "__main__":
    main()
