"""Runs every side-by-side benchmark, writes build/bench.json and prints a table.

A benchmark is a program that prints JSON lines, one row each:
  {"name", "unit", "ours", "peer", "peer_name", "better": "lower"|"higher"}
"peer" and "peer_name" are null where no peer does the same work. The ratio (how many times better
ours is) and the verdict against a target are added here. One that fails is named at the end, and
makes the exit code 1; what it printed before is kept, and the others run nevertheless.

usage: run.py [--only TEXT] [--out FILE] [--markdown]
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
Row = dict[str, Any]

# Limits that Headway has set itself, in the row's unit.
TARGETS = {
    "record_ns": 25.0,
    "record_python_ns": 80.0,
    "hook_overhead_us": 5.0,
    "attribution_events_per_s": 20e6,
    "window_query_us_300k": 100.0,
    "agent_idle_cpu_pct": 0.5,
    "classify_mb_per_s": 200.0,
    "steps_lost": 1.0,
    "restore_s_replica_per_gib": 0.05,
    "ckpt_stream_memory_mib": 300.0,
    "ckpt_rows_block_ms_per_gib": 8.0,
    "archive_pack_mb_per_s": 250.0,
    "archive_unpack_mb_per_s": 600.0,
    "archive_unpack_memory_mb_per_s": 600.0,
    "archive_unpack_large_memory_mb_per_s": 600.0,
    "archive_pack_large_mb_per_s": 250.0,
    "archive_unpack_large_mb_per_s": 600.0,
    "archive_merge_64_ranks_growth": 1.1,
    "recompiles_per_graph": 1.0,
    "trace_rss_mb": 200.0,
    "trace_big_rss_mb": 200.0,
    "trace_big_index_ms": 1000.0,
    "autotune_cross_compile_times": 5.0,
    "autotune_modelled_winner_kept_pct": 100.0,
    "autotune_cpu_winner_kept_pct": 100.0,
    "regress_fleet_recall_2_pct": 80.0,
    "regress_fleet_recall_2_low_pct": 80.0,
    "regress_fleet_recall_5_pct": 95.0,
    "regress_fleet_recall_5_low_pct": 95.0,
    "regress_fleet_false_nothing": 1.0,
    "regress_fleet_false_mix": 1.0,
    "regress_fleet_false_wave": 1.0,
    "regress_fleet_false_restless": 1.0,
    "regress_fleet_false_weekends": 1.0,
    "regress_fleet_false_sparse": 1.0,
    "fleet_query_ms": 200.0,
    "ingest_events_per_s": 1e6,
    "ranks_10000_ingest_p99_ms": 50.0,
    "ranks_10000_page_p99_ms": 100.0,
    "ranks_10000_shown_p99_s": 2.0,
    "ranks_10000_memory_mib": 1024.0,
    "ranks_10000_jobs_told_wrong": 0.0,
    "page_new_job_s": 2.0,
    "page_new_job_max_s": 2.0,
    "page_frame_gap_p95_ms": 34.0,
    "demo_all_views_s": 10.0,
    "regress_watch_1m_calm_60_days_s": 5.0,
    "regress_watch_1m_incident_60_days_s": 5.0,
}

# How many times better than the peer.
RATIOS = {
    "trace_parse_mb_per_s": 15.0,
    "ttr_process_ms": 15.0,
    "ttr_process_2gib_ms": 5.0,
}

# Of the peer's, at most.
SHARES = {
    "restore_s_disk": 0.6,
    "ckpt_delta_eff_s_dense": 0.25,
    "ckpt_delta_eff_s_tables_full": 0.4,
    "ckpt_delta_eff_s_tables_rows": 0.15,
    "ckpt_block_of_copy_dense": 1.3,
    "ckpt_block_of_copy_tables": 1.3,
    "ckpt_rows_block_ms_per_million": 1.3,
    "ckpt_durable_s_dense": 1.3,
    "ckpt_durable_s_tables": 1.3,
}
for model in ("dlrm", "transformer"):
    SHARES |= {
        f"warm_first_step_s_{model}": 0.2,
        f"warm_first_step_vs_cold_s_{model}": 0.1,
        f"warm_process_s_{model}": 0.35,
        f"warm_restart_process_s_{model}": 0.2,
    }

PROGRAMS: list[list[str]] = [
    [sys.executable, str(ROOT / "bench/record_peers.py")],
    [sys.executable, str(ROOT / "bench/bench_hook.py")],
    [sys.executable, str(ROOT / "bench/attribution_peer.py")],
    [sys.executable, str(ROOT / "bench/bench_recover.py")],
    [sys.executable, str(ROOT / "bench/classify_peer.py")],
    [sys.executable, str(ROOT / "bench/bench_checkpoint.py")],
    [sys.executable, str(ROOT / "bench/bench_archive.py")],
    [sys.executable, str(ROOT / "bench/bench_recompiles.py")],
    [sys.executable, str(ROOT / "bench/bench_trace.py")],
    [sys.executable, str(ROOT / "bench/bench_autotune.py")],
    [sys.executable, str(ROOT / "bench/bench_warm_start.py")],
    [sys.executable, str(ROOT / "bench/bench_regress.py")],
    [str(BUILD / "bin/bench_fleet")],
    [sys.executable, str(ROOT / "bench/bench_ingest.py")],
    [sys.executable, str(ROOT / "bench/bench_restart.py")],
    [sys.executable, str(ROOT / "bench/bench_ranks.py")],
    [sys.executable, str(ROOT / "bench/bench_page.py")],
]


def environment() -> dict[str, str]:
    found = dict(os.environ, HEADWAY_BUILD=str(BUILD), HEADWAY_BIN=str(BUILD / "headway"))
    found["HEADWAY_CACHE"] = "off"  # but for the benchmark that is about it
    paths = [str(BUILD / "python"), found.get("PYTHONPATH", "")]
    found["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return found


class Failed(Exception):
    """A program did not get to its end, and why."""


def rows_of(command: list[str]) -> Iterator[Row]:
    """The rows that a program prints; its progress goes to our stderr."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    except OSError as error:
        raise Failed(f"cannot be started: {error.strerror}") from error
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            yield complete(json.loads(line))
    if process.wait() != 0:
        raise Failed(f"ended with code {process.returncode}")


def complete(row: Row) -> Row:
    ours, peer = row["ours"], row.get("peer")
    better = row.get("better", "lower")
    ratio = None
    if peer and ours:
        ratio = peer / ours if better == "lower" else ours / peer
    return {
        "name": row["name"],
        "unit": row["unit"],
        "ours": ours,
        "peer": peer,
        "peer_name": row.get("peer_name"),
        "ratio": ratio,
        "better": better,
    }


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def verdict(row: Row) -> str:
    """What was aimed at, and whether it was reached; "" where there is no aim."""
    name, ours = row["name"], row["ours"]
    share = SHARES.get(name)
    if (wanted := RATIOS.get(name)) is not None and row["ratio"] is not None:
        met, aim = row["ratio"] >= wanted, f"≥ {number(wanted)} times the peer"
    elif share is not None and row["peer"]:
        met, aim = ours <= share * row["peer"], f"≤ {share:g} of the peer"
    elif (target := TARGETS.get(name)) is not None:
        less = row["better"] == "lower"
        met = ours <= target if less else ours >= target
        aim = f"{'≤' if less else '≥'} {number(target)}"
    else:
        return ""
    return f"{aim}, {'met' if met else 'MISSED'}"


def cells(row: Row) -> list[str]:
    return [
        row["name"],
        row["unit"],
        number(row["ours"]),
        number(row["peer"]),
        number(row["ratio"]),
        verdict(row),
        row["peer_name"] or "-",
    ]


HEAD = ["benchmark", "unit", "ours", "peer", "times better", "target", "peer is"]


def table(rows: list[Row]) -> str:
    lines = [HEAD, *map(cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(rows: list[Row]) -> str:
    lines = [HEAD, ["---", "---", "---:", "---:", "---:", "---", "---"]]
    for row in rows:
        name, *rest = [cell.replace("MISSED", "**missed**") for cell in cells(row)]
        lines.append([f"`{name}`", *rest])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run every side-by-side benchmark.")
    parser.add_argument("--only", default="", help="run only programs whose name holds this text")
    parser.add_argument("--out", type=Path, default=BUILD / "bench.json")
    parser.add_argument("--markdown", action="store_true", help="the table as docs have it")
    args = parser.parse_args()
    rows: list[Row] = []
    failed: list[str] = []
    for command in PROGRAMS:
        name = Path(command[-1]).name
        if args.only not in name:
            continue
        print(f"== {name}", file=sys.stderr, flush=True)
        try:
            for row in rows_of(command):
                rows.append(row)
                print(f"   {row['name']}: {number(row['ours'])} {row['unit']}", file=sys.stderr)
        except Failed as error:
            failed.append(f"{name} {error}")
            print(f"bench: {failed[-1]}", file=sys.stderr)
    if not rows and not failed:
        print(f"bench: nothing fits --only {args.only}", file=sys.stderr)
        return 2
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(markdown(rows) if args.markdown else table(rows))
    print(f"\nwrote {os.path.relpath(args.out)}")
    for told in failed:
        print(f"bench: {told}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
