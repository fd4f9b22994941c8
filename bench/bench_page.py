"""The page in a real Chromium: how soon a new job is on it, how smoothly its timeline zooms, and
how soon a newcomer has seen all of it.

A collector, the page open on its jobs, one job that trains. Then ten more begin by `headway run
--collector`, one after the other, at other moments of what goes on beside them: from the launch of
the command until the row is in the page, and from the job's first event. The timeline of 100,000
segments is the stand-in's (web/test/fixture): the wheel zooms it from weeks to milliseconds, and
what is told is how long a frame takes to draw and how far frames are apart while the wheel turns.
The demo is `headway serve --demo` from its start until the last of its four views is shown. No peer
does this.

Prints one JSON row a line. usage: bench_page.py [--starts N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
NOTHING_TO_RUN = 2  # the code of bench.mjs where there is no browser


def row(name: str, unit: str, ours: float) -> None:
    told = {"name": name, "unit": unit, "ours": ours}
    print(json.dumps(told | {"peer": None, "peer_name": None, "better": "lower"}), flush=True)


def p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) * 95 // 100, len(values) - 1)]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--starts", type=int, default=10)
    args = parser.parse_args()
    node = shutil.which("node")
    if node is None:
        print("   page: needs Node.js", file=sys.stderr)
        return 0
    environment = {"HEADWAY_BIN": str(BUILD / "headway")} | os.environ
    done = subprocess.run(
        [node, "test/page/bench.mjs", str(args.starts)],
        cwd=ROOT / "web",
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode == NOTHING_TO_RUN:
        print(f"   page: {done.stdout.strip()}", file=sys.stderr)
        return 0
    if done.returncode != 0:
        return done.returncode
    measured = json.loads(done.stdout)
    demo, timeline, jobs = measured["demo"], measured["timeline"], measured["new_jobs"]
    drawn, gaps = timeline["draw_ms"], timeline["gaps_ms"]
    print(
        f"   demo: listens after {demo['listens_s']:.1f} s, the fleet after {demo['fleet_s']:.1f} s"
        f"\n   timeline: {timeline['segments']:,} segments, {len(drawn)} frames drawn, the slowest "
        f"in {max(drawn):.1f} ms; at most {max(gaps):.1f} ms apart",
        file=sys.stderr,
    )
    for since in ("launch", "event"):
        seconds = [each[f"{since}_s"] for each in jobs]
        name = "page_new_job" if since == "launch" else "page_new_job_event"
        row(f"{name}_s", "s", statistics.median(seconds))
        row(f"{name}_max_s", "s", max(seconds))
    row("page_frame_gap_p95_ms", "ms", p95(gaps))
    row("page_draw_p95_ms", "ms", p95(drawn))
    row("demo_all_views_s", "s", demo["all_views_s"])
    return 0


sys.exit(main())
