"""`headway fleet` as tests call it, and what it wrote as plain values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from spark_cluster import Cluster, driver_settings

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = os.environ.get("HEADWAY_BIN", str(ROOT / "build/headway"))
RUN_S = 900
# A bucket's word in a fleet → where a job's report has it.
IN_REPORT = {
    "scheduling": ("l2", "scheduling_ns"),
    "hardware_setup": ("l2", "hardware_setup_ns"),
    **{
        word: ("l3", f"{word}_ns")
        for word in (
            *("imports", "device_init", "process_group_init", "preproc_creation"),
            *("train_module_creation", "init_plugins", "pre_train", "get_first_batch_data"),
            "restore",
        )
    },
    "init_other": ("l3", "other_ns"),
    "compile_cold": ("compile", "cold_ns"),
    "compile_warm": ("compile", "warm_ns"),
    "effective": ("l2", "effective_ns"),
    **{
        word: ("wasted", f"{word}_ns")
        for word in (
            *("data_wait", "recompile", "replay", "interrupted_step", "hang", "eval"),
            "checkpoint_blocked",
        )
    },
    "wasted_other": ("wasted", "other_ns"),
    "final_save": ("shutdown", "final_save_ns"),
    "publish": ("shutdown", "publish_ns"),
    "shutdown_other": ("shutdown", "other_ns"),
    "down": ("l2", "down_ns"),
}
assert len(IN_REPORT) == 27
Rows = list[dict[str, Any]]


def headway(*words: object, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HEADWAY, *map(str, words)], capture_output=True, text=True, timeout=RUN_S, **more
    )


def command(master: str, jobs: Path, out: Path, *words: object) -> list[str]:
    return [
        *(HEADWAY, "fleet", "--spark", master, "--journals", str(jobs), "--out", str(out)),
        *("--python", sys.executable, "--json", *driver_settings(), *map(str, words)),
    ]


def run(cluster: Cluster, jobs: Path, out: Path, *words: object) -> dict[str, Any]:
    done = subprocess.run(
        command(cluster.url, jobs, out, *words), capture_output=True, text=True, timeout=RUN_S
    )
    assert done.returncode == 0, done.stderr[:1500] + done.stderr[-1500:]
    return json.loads(done.stdout)


def table(out: Path, name: str) -> Rows:
    """All rows, in an order that says nothing of files."""
    partitioned = name in ("slices", "rollup")
    found = ds.dataset(
        out / f"{name}.parquet",
        partitioning="hive" if partitioned else None,
        exclude_invalid_files=False,
        ignore_prefixes=["_", "."],
    )
    return sorted(found.to_table().to_pylist(), key=lambda row: json.dumps(row, default=str))


def partition_of(report: dict[str, Any]) -> dict[str, int]:
    return {word: report[part][name] for word, (part, name) in IN_REPORT.items()} | {
        "failure": report["failure_ns"],
        "queued": report["queued_ns"],
    }


def partitions(slices: Rows) -> dict[str, dict[str, int]]:
    """By job: the sums of its slices."""
    out: dict[str, dict[str, int]] = {}
    for row in slices:
        sums = out.setdefault(row["job"], dict.fromkeys([*IN_REPORT, "failure", "queued"], 0))
        for word in sums:
            sums[word] += row[f"{word}_ns"]
    return out
