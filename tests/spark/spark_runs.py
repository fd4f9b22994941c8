"""`headway fleet` as tests call it, and what it wrote as plain values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from report_words import IN_REPORT
from spark_cluster import Cluster, driver_settings

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = os.environ.get("HEADWAY_BIN", str(ROOT / "build/headway"))
RUN_S = 900
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


def partitions(slices: Rows) -> dict[str, dict[str, int]]:
    """By job: the sums of its slices."""
    out: dict[str, dict[str, int]] = {}
    for row in slices:
        sums = out.setdefault(row["job"], dict.fromkeys([*IN_REPORT, "failure", "queued"], 0))
        for word in sums:
            sums[word] += row[f"{word}_ns"]
    return out
