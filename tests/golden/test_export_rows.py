"""`headway export --rows attempts|days`: the report's numbers, and both formats say the same."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from report_words import IN_REPORT, partition_of

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = os.environ.get("HEADWAY_BIN", str(ROOT / "build/headway"))
GOLDEN = Path(__file__).parent
PAGE = ROOT / "docs/formats/export.md"
DAY_NS = 86_400_000_000_000
Row = dict[str, Any]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every golden job as a job below one folder, and one with names that need care."""
    root = tmp_path_factory.mktemp("rows") / "jobs"
    for path in GOLDEN.glob("*.jsonl"):
        (root / path.stem).mkdir(parents=True)
        shutil.copy(path, root / path.stem)
    lines = (GOLDEN / "crash_replay.jsonl").read_text().replace('"crash_replay"', '"odd"')
    for key, value in {
        "family": 'a,"b"\n\u00fc',
        "team": "password=hunter2hunter2",
        "devices": "16",
        "lever.replica": "on",
        "lever.compile_cache": "on",
    }.items():
        lines += json.dumps({"job": "odd", "type": "attr", "key": key, "value": value}) + "\n"
    (root / "odd").mkdir()
    (root / "odd/odd.jsonl").write_text(lines)
    return root


def headway(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HEADWAY, *map(str, words)], capture_output=True, text=True, timeout=120)


def exported(jobs: Path, rows: str, form: str, out: Path, *words: object) -> str:
    done = headway("export", *words, "--rows", rows, "--format", form, "--dir", jobs, "-o", out)
    assert done.returncode == 0 and done.stdout == "", done
    return out.read_bytes().decode()


def lines_of(text: str) -> list[Row]:
    return [json.loads(line) for line in text.splitlines()]


def cells_of(row: Row) -> dict[str, str]:
    """A row of JSON as CSV has it."""
    cells = {}
    for name, value in row.items():
        if isinstance(value, list):
            cells[name] = ";".join(value)
        else:
            cells[name] = "" if value is None else str(value)
    return cells


def reports(jobs: Path) -> dict[str, Row]:
    out = {}
    for folder in sorted(jobs.iterdir()):
        done = headway("report", folder.name, "--dir", jobs, "--json")
        assert done.returncode == 0, done
        out[folder.name] = json.loads(done.stdout)
    return out


def sums_of(rows: list[Row]) -> dict[str, int]:
    words = (*IN_REPORT, "failure", "queued")
    return {word: sum(row[f"{word}_ns"] for row in rows) for word in words}


def test_rows_add_up_to_the_reports(jobs: Path, tmp_path: Path) -> None:
    told = reports(jobs)
    attempts = lines_of(exported(jobs, "attempts", "jsonl", tmp_path / "a", "--all"))
    days = lines_of(exported(jobs, "days", "jsonl", tmp_path / "d", "--all"))
    for job, report in told.items():
        own = [row for row in attempts if row["job"] == job]
        assert [row["attempt"] for row in own] == [each["attempt"] for each in report["attempts"]]
        for rows in (own, [row for row in days if row["job"] == job]):
            assert sums_of(rows) == partition_of(report), job
            assert sum(row["wall_ns"] for row in rows) == report["wall_ns"], job
            assert sum(row["saves"] for row in rows) == report["checkpoint"]["saves"], job
        for row in own:
            slices = [day for day in days if (day["job"], day["attempt"]) == (job, row["attempt"])]
            assert sums_of(slices) == sums_of([row])
            assert len({day["day"] for day in slices}) == len(slices)
        failed = [
            {
                "attempt": row["attempt"],
                "t_ns": row["failure_at_ns"],
                "origin": row["failure_origin"],
                "lost_ns": row["failure_lost_ns"],
                "unsaved_ns": row["failure_unsaved_ns"],
                "time_to_recover_ns": row["failure_recovered_ns"],
            }
            for row in own
            if row["failure_at_ns"] is not None
        ]
        assert failed == [{key: each[key] for key in failed[0]} for each in report["failures"]], job
        first = next((row for row in own if row["start_kind"] is not None), None)
        length = None if first is None else first["start_length_ns"]
        assert length == report["l1"]["time_to_start_ns"], job
    assert {row["job"] for row in attempts} == set(told)
    assert sum(row["failure_at_ns"] is not None for row in attempts) > 15


@pytest.mark.parametrize("rows", ["attempts", "days"])
def test_both_formats_say_the_same(jobs: Path, tmp_path: Path, rows: str) -> None:
    lines = lines_of(exported(jobs, rows, "jsonl", tmp_path / "j", "--all"))
    text = exported(jobs, rows, "csv", tmp_path / "c", "--all")
    assert text.count("\r\n") == len(lines) + 1
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert read == [cells_of(row) for row in lines]
    assert all(list(row) == list(lines[0]) for row in lines)
    # One job alone is its rows of all.
    one = lines_of(exported(jobs, rows, "jsonl", tmp_path / "one", "odd"))
    assert one == [row for row in lines if row["job"] == "odd"] != []
    assert {row["family"] for row in one} == {'a,"b"\n\u00fc'}
    assert "hunter2" not in text


def test_columns_and_types_are_those_of_the_page(jobs: Path, tmp_path: Path) -> None:
    """What docs/formats/export.md promises, read from its table."""
    section = PAGE.read_text().partition("## Rows of attempts and days")[2].partition("\n## ")[0]
    row_of_table = r"^\| (`.*?`) \| (integer|text|texts) \| (\w+) \| (.*)\|$"
    table = re.findall(row_of_table, section, re.MULTILINE)
    kinds = {"integer": int, "text": str, "texts": list}
    for rows in ("attempts", "days"):
        wanted = {
            name: (kinds[kind], "null" in null)
            for names, kind, where, null in table
            if where in ("both", rows)
            for name in re.findall(r"`(\w+)`", names)
        }
        lines = lines_of(exported(jobs, rows, "jsonl", tmp_path / rows, "--all"))
        header = exported(jobs, rows, "csv", tmp_path / f"{rows}.csv", "--all").split("\r\n")[0]
        assert header.split(",") == list(lines[0]) == list(wanted)
        for row in lines:
            for name, (kind, may_be_null) in wanted.items():
                assert type(row[name]) is kind or (may_be_null and row[name] is None), (name, row)
    odd = lines_of(exported(jobs, "attempts", "jsonl", tmp_path / "odd", "odd"))
    assert odd[0]["levers"] == ["compile_cache", "replica"]
    assert (odd[0]["devices"], odd[0]["size"]) == (16, "8-63")


def test_one_job_that_cannot_be_read_does_not_stop_the_others(jobs: Path, tmp_path: Path) -> None:
    some = tmp_path / "jobs"
    shutil.copytree(jobs / "normal", some / "normal")
    (some / "bad").mkdir()
    (some / "bad/events.jsonl").write_text("no JSON\n")
    out = tmp_path / "out"
    words = ("export", "--all", "--rows", "attempts", "--format", "jsonl", "--dir", some)
    done = headway(*words, "-o", out)
    assert done.returncode == 1 and "bad/events.jsonl" in done.stderr, done
    assert {row["job"] for row in lines_of(out.read_text())} == {"normal"}
    for wrong, line in {
        ("--all", "normal", "--rows", "days", "--format", "csv"): "name none beside it",
        ("--all", "--format", "csv"): "--rows attempts",
        ("normal", "--rows", "days", "--format", "perfetto"): "csv or jsonl",
        ("--rows", "days", "--format", "csv"): "--all",
    }.items():
        done = headway("export", *wrong, "--dir", some)
        assert done.returncode == 2 and line in done.stderr and done.stdout == "", done
