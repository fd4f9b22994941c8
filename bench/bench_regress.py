"""Which detector finds regressions, and what the whole of it finds and invents.

    python bench/bench_regress.py [--series 400] [--seeds 1 2 3] [--fleets 6] [--rises 9]

Series: days of 200 observations with 10% log-normal noise, a rise put in or none; the detectors
and Apache Otava on the same ones (bench/regress/weigh.h, bench/regress/otava_peer.py). Ours have
thresholds that gave 0.5 false alarms per 1,000 series-days on other series; Otava has its default
p-value, and smaller ones. Fleets: facts of attempts, day by day, through `regress::watch`
with the options that `headway serve` has (bench/bench_regress_fleet.cc). Tables go to stderr, JSON
rows to stdout.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import venv
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
OTAVA = "apache-otava==0.8.0"
OURS = "likelihood ratio"
Row = dict[str, Any]


def say(text: str) -> None:
    print(f"   {text}", file=sys.stderr, flush=True)


def row(
    name: str, unit: str, ours: float, peer: float | None, peer_name: str | None, better: str
) -> None:
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": better}), flush=True)


def lines_of(command: list[str]) -> list[Row]:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def otava_python() -> str | None:
    """The Python of an environment that has Otava, made at the first call; None: it cannot be."""
    folder = BUILD / "otava"
    python = folder / "bin/python"
    ready = folder / "ready"
    if not ready.exists():
        try:
            venv.create(folder, with_pip=True, clear=True)
            install = [str(python), "-m", "pip", "install", "--quiet", OTAVA]
            subprocess.run(install, check=True, capture_output=True)
            ready.touch()
        except (OSError, subprocess.CalledProcessError) as error:
            say(f"no peer: {OTAVA} could not be installed ({error})")
            return None
    return str(python)


def average(rows: list[Row]) -> dict[tuple[str, str], Row]:
    """Over seeds: what each detector did in each scenario."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for each in rows:
        groups[each["detector"], each["scenario"]].append(each)
    numbers = ("false_per_1000", "recall_1", "recall_2", "recall_3")
    return {
        key: {n: sum(r[n] for r in group) / len(group) for n in numbers if n in group[0]}
        for key, group in groups.items()
    }


def show(means: dict[tuple[str, str], Row]) -> None:
    detectors = list(dict.fromkeys(detector for detector, _ in means))
    say("false alarms per 1,000 series-days, or recall in % within 1/2/3 days of the change")
    say(f"{'':24}" + "".join(f"{name:>17}" for name in detectors))
    for scenario in dict.fromkeys(scenario for _, scenario in means):
        cells = []
        for detector in detectors:
            mean = means[detector, scenario]
            if "false_per_1000" in mean:
                cells.append(f"{mean['false_per_1000']:.2f}")
            else:
                cells.append("/".join(f"{100 * mean[f'recall_{k}']:.0f}" for k in (1, 2, 3)))
        say(f"{scenario:24}" + "".join(f"{cell:>17}" for cell in cells))


def weigh_detectors(args: argparse.Namespace) -> None:
    program = str(BUILD / "bin/bench_regress_detectors")
    file = BUILD / "regress-series.jsonl"
    say(f"detectors: {args.series} series of each kind, seeds {args.seeds}")
    seeds = [str(seed) for seed in args.seeds]
    rows = lines_of([program, str(args.series), *seeds, "--write", str(file)])
    if args.otava and (python := otava_python()):
        peer = str(ROOT / "bench/regress/otava_peer.py")
        p = ["--p", "1e-3", "1e-4", "1e-5"]
        # Of fewer series: it takes a thousand times as long.
        rows += lines_of([python, peer, str(file), "--series", str(args.otava), *p])
    means = average(rows)
    show(means)
    for detector in dict.fromkeys(detector for detector, _ in means):
        if detector == OURS:
            continue
        word = "".join(c if c.isalnum() else "_" for c in detector.lower()).strip("_")
        for scenario, short in (("+2%", "2"), ("+5%", "5")):
            ours = 100 * means[OURS, scenario]["recall_3"]
            peer_value = 100 * means[detector, scenario]["recall_3"]
            row(
                f"regress_series_recall_{short}_pct_{word}",
                "%",
                ours,
                peer_value,
                detector,
                "higher",
            )
        for scenario, short in (("calm", "calm"), ("days differ by 1%", "restless")):
            ours = means[OURS, scenario]["false_per_1000"]
            peer_value = means[detector, scenario]["false_per_1000"]
            name = f"regress_series_false_{short}_{word}"
            row(name, "per 1,000 series-days", ours, peer_value, detector, "lower")


def interval_pct(hits: int, of: int) -> tuple[float, float]:
    """The 95% range of a share (Wilson), in percent."""
    z, share = 1.96, hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return 100 * (middle - half), 100 * (middle + half)


def watch_fleets(args: argparse.Namespace) -> None:
    program = str(BUILD / "bin/bench_regress_fleet")
    wide = args.rises * args.fleets  # 8 rises in each: enough of them for a narrow interval
    say(f"fleets: seeds 1 to {args.fleets} of all kinds, to {wide} of rises by 2% and 5%")
    asked = [("all", seed) for seed in range(1, args.fleets + 1)]
    asked += [("rise_2,rise_5", seed) for seed in range(args.fleets + 1, wide + 1)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        told = pool.map(lambda a: lines_of([program, "recall", a[0], str(a[1])]), asked)
        rows = [line for lines in told for line in lines]
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for each in rows:
        scenario = each.pop("scenario")
        each.pop("seed")
        sums[scenario].update(each)
    for scenario, got in sums.items():
        rate = 1000 * got["false"] / got["series_days"]
        text = f"{scenario:10} {rate:.2f} false alarms per 1,000 series-days"
        text += f" ({got['false']} in {got['series_days']})"
        if got["put_in"]:
            low, high = interval_pct(got["found_3"], got["put_in"])
            text += f"; within 3 days {got['found_3']} of {got['put_in']}"
            text += f" ({low:.1f} to {high:.1f}%), ever {got['found']}"
        say(f"{text}; explained {got['explained']}")
        name, unit = f"regress_fleet_false_{scenario}", "per 1,000 series-days"
        row(name, unit, rate, None, None, "lower")
        if got["put_in"]:
            name = f"regress_fleet_recall_{scenario.removeprefix('rise_')}_pct"
            row(name, "%", 100 * got["found_3"] / got["put_in"], None, None, "higher")
            low, _ = interval_pct(got["found_3"], got["put_in"])
            row(name.replace("_pct", "_low_pct"), "%", low, None, None, "higher")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--fleets", type=int, default=6)
    parser.add_argument(
        "--rises", type=int, default=9, help="so many times more fleets with rises of 2% and 5%"
    )
    parser.add_argument(
        "--otava", type=int, default=50, help="series of each kind and seed; 0: none"
    )
    args = parser.parse_args()
    weigh_detectors(args)
    watch_fleets(args)
    for speed in lines_of([str(BUILD / "bin/bench_regress_fleet"), "speed", "1000000"]):
        name = f"regress_watch_1m_{speed['fleet']}_{speed['days']}_days_s"
        row(name, "s", speed["watch_s"], None, None, "lower")


if __name__ == "__main__":
    main()
