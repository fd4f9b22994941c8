"""The fleet's history on a real Spark cluster: the same nanoseconds as everywhere else, whatever
happens to a worker, and however the work is shared out."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from collecting import Collector
from pyarrow import parquet
from report_words import IN_REPORT, partition_of
from spark_cluster import Cluster
from spark_runs import HEADWAY, Rows, command, headway, partitions, run, table

ROOT = Path(__file__).resolve().parents[2]
TABLES = ("attempts", "slices", "rollup", "facts", "errors")


@pytest.fixture(scope="module")
def history(
    cluster: Cluster, jobs: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """One run with nothing wrong."""
    out = tmp_path_factory.mktemp("out") / "history"
    began = time.monotonic()
    summary = run(cluster, jobs, out)
    print(f"Spark: {time.monotonic() - began:.1f} s, of it {summary['timings_s']}")
    return out, summary


@pytest.fixture(scope="module")
def filled(jobs: Path, collector: Collector) -> Collector:
    """A collector that has all jobs."""
    for folder in sorted(jobs.iterdir()):
        words = ("--dir", jobs, "--to", collector.url, "--every-host", "--json")
        sent = headway("ship", folder.name, *words)
        assert sent.returncode == 0 and json.loads(sent.stdout)["complete"], sent
    return collector


def reports(jobs: Path) -> dict[str, dict[str, Any]]:
    told = {}
    for folder in sorted(jobs.iterdir()):
        done = headway("report", folder.name, "--dir", jobs, "--json", check=True)
        told[folder.name] = json.loads(done.stdout)
    return told


def test_every_job_is_as_its_report_and_the_collector_say(
    history: tuple[Path, dict[str, Any]], jobs: Path, filled: Collector
) -> None:
    out, summary = history
    told = reports(jobs)
    assert summary["total"]["jobs"] == len(told) >= 20
    rows = table(out, "slices")
    found = partitions(rows)
    assert found == {job: partition_of(report) for job, report in told.items()}
    for job in told:
        report = filled.get(f"/api/v1/jobs/{job}/report")
        assert partition_of(report) == found[job], job


def test_the_total_is_the_collectors_roll_up(
    history: tuple[Path, dict[str, Any]], filled: Collector
) -> None:
    out, summary = history
    slices = table(out, "slices")
    wanted = {
        group["key"]: summed_up(
            group, [row for row in slices if row[summary["by"]] == group["key"]]
        )
        for group in summary["groups"]
    }
    wanted["total"] = summed_up(summary["total"], slices)
    assert len(wanted) > 3
    after = date.fromisoformat(summary["last_day"]) + timedelta(days=1)
    deadline = (
        time.monotonic() + 120
    )  # jobs come to the fleet's account seconds after their batches
    while True:
        asked = f"from={summary['first_day']}&to={after}&by={summary['by']}"
        answer = filled.get(f"/api/v1/fleet/rollup?{asked}")
        told = {group["key"][summary["by"]]: rolled_up(group) for group in answer["groups"]}
        told["total"] = rolled_up(answer["total"])
        if told == wanted:
            return
        assert time.monotonic() < deadline, (told, wanted)
        time.sleep(0.5)


def summed_up(group: dict[str, Any], slices: Rows) -> dict[str, Any]:
    """A group of the summary and its slices, in the units of the collector: hours are nanoseconds
    of devices, divided once; the wall is in nanoseconds."""
    hours = {word: int(ns) / 3.6e12 for word, ns in group["device_ns"].items()}
    counts = {name: group[name] for name in ("jobs", "attempts", "failures")}
    wall_ns = sum(row[f"{word}_ns"] for row in slices for word in IN_REPORT)
    queued_ns = sum(row["queued_ns"] for row in slices)
    return counts | {"hours": hours, "wall_ns": wall_ns, "queued_ns": queued_ns}


def rolled_up(group: dict[str, Any]) -> dict[str, Any]:
    """The same of the collector's answer."""
    assert group["unit"] == "device_hours"
    names = ("jobs", "attempts", "failures", "wall_ns", "queued_ns")
    return {name: group[name] for name in names} | {"hours": group["buckets"]}


def test_attempts_failures_and_starts_are_those_of_the_report(
    history: tuple[Path, dict[str, Any]], jobs: Path
) -> None:
    out, _ = history
    attempts = table(out, "attempts")
    told = reports(jobs)
    by_job: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(attempts, key=lambda row: row["attempt"]):
        by_job.setdefault(row["job"], []).append(row)
    names = {"t_ns", "origin", "lost_ns", "unsaved_ns", "time_to_recover_ns"}
    failures = 0
    for job, report in told.items():
        rows = by_job[job]
        assert [row["attempt"] for row in rows] == [
            each["attempt"] for each in report["attempts"]
        ], job
        here = [
            {name: row[f"failure_{name}"] for name in names} | {"attempt": row["attempt"]}
            for row in rows
            if row["failure_t_ns"] is not None
        ]
        there = [{name: each[name] for name in {*names, "attempt"}} for each in report["failures"]]
        assert here == there, job
        failures += len(here)
        first = next(row for row in rows if row["start_from_ns"] is not None)
        assert not first["start_recovery"]
        length = first["start_trained_ns"] - first["start_from_ns"]
        assert length == report["l1"]["time_to_start_ns"], job
        parts = sum(first[f"start_{word}_ns"] for word in IN_REPORT)
        assert parts + first["start_outside_ns"] == length, job
        assert {row["family"] for row in rows} == {report["attrs"]["family"]}
    assert failures > 5


RENAMED = {  # a column of `headway export --rows attempts` → of attempts.parquet
    "failure_at_ns": "failure_t_ns",
    "failure_recovered_ns": "failure_time_to_recover_ns",
    "start_queued_ns": "start_outside_ns",
}


def test_exported_rows_as_parquet_are_the_history(
    history: tuple[Path, dict[str, Any]], jobs: Path, tmp_path: Path
) -> None:
    """By the script of docs/formats/export.md, word for word."""
    page = (ROOT / "docs/formats/export.md").read_text()
    script = page.partition("```python file=rows_to_parquet.py\n")[2].partition("```")[0]
    (tmp_path / "rows_to_parquet.py").write_text(script)
    out, _ = history
    words = (*IN_REPORT, "wall", "queued", "failure")
    of_their_own = {
        "attempts": {f"{word}_ns" for word in words} | {"saves", "start_length_ns"},
        "days": {"wall_ns"},
    }
    for rows, name in {"attempts": "attempts", "days": "slices"}.items():
        lines, file = tmp_path / f"{rows}.jsonl", tmp_path / f"{rows}.parquet"
        options = ("--rows", rows, "--format", "jsonl", "--dir", jobs, "-o", lines)
        headway("export", "--all", *options, check=True)
        command = [sys.executable, "rows_to_parquet.py", str(lines), str(file)]
        subprocess.run(command, cwd=tmp_path, check=True)
        written = parquet.read_table(file)
        assert not [column.name for column in written.schema if str(column.type) == "null"]
        there = {(row["job"], row["attempt"], row.get("day")): row for row in table(out, name)}
        assert written.num_rows == len(there) > 0
        for row in written.to_pylist():
            day = date.fromisoformat(row.pop("day")) if "day" in row else None
            other = there[row["job"], row["attempt"], day]
            if kind := row.pop("start_kind", None):
                assert other["start_recovery"] == (kind == "recover")
            shared = {key: RENAMED.get(key, key) for key in row}
            shared = {key: name for key, name in shared.items() if name in other}
            assert set(row) - set(shared) == of_their_own[rows]
            assert {key: row[key] for key in shared} == {
                key: other[name] for key, name in shared.items()
            }


def test_the_roll_up_is_the_sum_of_the_slices(history: tuple[Path, dict[str, Any]]) -> None:
    out, summary = history
    slices, attempts, sums = table(out, "slices"), table(out, "attempts"), table(out, "rollup")
    keys = ("day", "family", "team", "cluster", "hardware", "size", "torch", "priority")
    wanted: dict[tuple[Any, ...], dict[str, Any]] = {}

    def group(row: dict[str, Any], day: date) -> dict[str, Any]:
        key = (day, *(row[name] for name in keys[1:]))
        empty = dict.fromkeys([f"{word}_device_ns" for word in [*IN_REPORT, "failure"]], 0)
        return wanted.setdefault(
            key, {"jobs": set(), "attempts": 0, "failures": 0, "starts": 0, "saves": 0} | empty
        )

    for row in slices:
        assert row["month"] == row["day"].strftime("%Y-%m")
        into = group(row, row["day"])
        into["jobs"].add(row["job"])
        into["attempts"] += 1
        into["saves"] += row["saves"]
        for word in [*IN_REPORT, "failure"]:
            into[f"{word}_device_ns"] += row[f"{word}_ns"] * row["devices"]
    for row in attempts:
        if row["start_from_ns"] is not None and not row["start_recovery"]:
            group(row, day_of(row["start_from_ns"]))["starts"] += 1
        if row["failure_origin"] in ("infra", "unknown"):
            group(row, day_of(row["failure_t_ns"]))["failures"] += 1
    assert len(sums) == len(wanted)
    for row in sums:
        each = wanted[tuple(row[name] for name in keys)]
        each["jobs"] = len(each["jobs"]) if isinstance(each["jobs"], set) else each["jobs"]
        assert {name: row[name] for name in each} == each
        assert isinstance(row["effective_device_ns"], Decimal)
    effective = sum(row["effective_device_ns"] for row in sums)
    assert str(effective) == summary["total"]["device_ns"]["effective"]


def day_of(t_ns: int) -> date:
    return date(1970, 1, 1) + timedelta(days=t_ns // 86_400_000_000_000)


def test_without_spark_it_is_the_same(history: tuple[Path, dict[str, Any]], jobs: Path) -> None:
    _, summary = history
    began = time.monotonic()
    done = headway("fleet", "--journals", jobs, "--json", check=True)
    print(f"without Spark: {time.monotonic() - began:.1f} s")
    local = json.loads(done.stdout)
    for name in ("total", "groups", "losses", "lost", "first_day", "last_day", "bytes"):
        assert local[name] == summary[name], name
    text = headway("fleet", "--journals", jobs, "--by", "team", check=True).stdout
    assert "device-hours" in text and "Most is lost in" in text


def test_the_number_of_tasks_changes_nothing(
    history: tuple[Path, dict[str, Any]], cluster: Cluster, jobs: Path, tmp_path: Path
) -> None:
    out, _ = history
    summary = run(cluster, jobs, tmp_path / "again", "--partitions", 1)
    assert summary["tasks"] == 1
    for name in TABLES:
        assert table(tmp_path / "again", name) == table(out, name), name


def lost_tasks(log: Path) -> int:
    """Of Spark's own record of the run: tasks that ended because their executor had gone."""
    lost = 0
    for file in log.rglob("*"):
        if not file.is_file() or file.name.endswith(".crc"):
            continue
        for line in file.read_text().splitlines():
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("Event") == "SparkListenerTaskEnd":
                lost += event["Task End Reason"]["Reason"] == "ExecutorLostFailure"
    return lost


def at_work(cluster: Cluster) -> bool:
    """A Python of the first worker has the extension in its memory: it is reading journals."""
    waiting = cluster.workers[0].children()
    while waiting:
        pid = waiting.pop()
        try:
            if "_fleet.cpython" in Path(f"/proc/{pid}/maps").read_text():
                return True
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return False


def test_a_worker_that_is_killed_costs_time_only(
    history: tuple[Path, dict[str, Any]], cluster: Cluster, jobs: Path, tmp_path: Path
) -> None:
    out, _ = history
    for round_ in range(5):  # until it met a task: nobody can say when Spark gives it one
        log, again = tmp_path / f"log-{round_}", tmp_path / f"killed-{round_}"
        log.mkdir()
        process = subprocess.Popen(
            command(cluster.url, jobs, again, "--conf", "spark.eventLog.enabled=true")
            + ["--conf", f"spark.eventLog.dir=file:{log}"]
            + ["--conf", "spark.eventLog.compress=false", "--partitions", "40"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and not at_work(cluster):
            time.sleep(0.005)
        cluster.kill_worker()
        output, errors = process.communicate(timeout=900)
        cluster.complete()
        assert process.returncode == 0, errors[-3000:]
        for name in TABLES:
            assert table(again, name) == table(out, name), name
        if lost := lost_tasks(log):
            print(f"round {round_}: {lost} tasks were lost with their worker and done again")
            print(f"took {json.loads(output)['timings_s']}")
            return
    pytest.fail("no round killed a worker in the middle of a task")


def test_what_cannot_be_read_is_told(cluster: Cluster, jobs: Path, tmp_path: Path) -> None:
    some = tmp_path / "jobs"
    names = sorted(folder.name for folder in jobs.iterdir())[:6]
    for name in names:
        shutil.copytree(jobs / name, some / name)
    whole = partitions_of(headway("fleet", "--journals", some, "--json", check=True).stdout)
    # One job has nothing but rubbish, one lacks a header, one has a damaged record, one is there
    # twice, one holds no journal.
    for file in (some / names[0]).rglob("*.hwj"):
        file.write_bytes(b"this is no journal")
    beheaded = next((some / names[1]).rglob("rank-00000.hwj"))
    spoil(beheaded, 100)
    spoil(next((some / names[2]).rglob("rank-00000.hwj")), 4096 + 32 * 5)
    shutil.copytree(some / names[3], some / "copy-of-it")
    (some / "empty").mkdir()
    (some / "notes.txt").write_text("not a job")

    summary = run(cluster, some, tmp_path / "out")
    assert summary["lost"] == {"jobs": 2, "files": 1, "damaged_files": 1}
    errors = {(row["job"], row["lost"]): row for row in table(tmp_path / "out", "errors")}
    assert set(errors) == {
        (names[0], "job"),
        (names[1], "file"),
        (names[2], "records"),
        (names[3], "job"),
    }
    assert errors[names[1], "file"]["file"] == str(beheaded)
    assert "the same job is in" in errors[names[3], "job"]["reason"]
    local = json.loads(headway("fleet", "--journals", some, "--json", check=True).stdout)
    assert local["lost"] == summary["lost"]
    assert local["notes"] == summary["notes"]
    assert local["total"] == summary["total"]
    assert summary["total"]["jobs"] == 5
    found = {row["job"] for row in table(tmp_path / "out", "attempts")}
    assert found == set(names[1:])
    assert whole != summary["total"]["device_ns"]
    text = headway("fleet", "--journals", some, check=True).stdout
    assert "2 jobs could not be read" in text and str(beheaded) in text
    for name in [*names[1:], "copy-of-it"]:
        shutil.rmtree(some / name)
    nothing = run(cluster, some, tmp_path / "nothing")
    assert nothing["lost"]["jobs"] == 1 and nothing["total"]["jobs"] == 0
    assert nothing["groups"] == [] and nothing["first_day"] is None


def partitions_of(text: str) -> dict[str, str]:
    return json.loads(text)["total"]["device_ns"]


def spoil(file: Path, offset: int) -> None:
    with file.open("r+b") as journal:
        journal.seek(offset)
        byte = journal.read(1)
        journal.seek(offset)
        journal.write(bytes([byte[0] ^ 0xFF]))


def test_results_are_never_half_there(cluster: Cluster, jobs: Path, tmp_path: Path) -> None:
    few = tmp_path / "jobs"
    for name in sorted(folder.name for folder in jobs.iterdir())[:2]:
        shutil.copytree(jobs / name, few / name)
    out = tmp_path / "out"
    first = run(cluster, few, out)
    assert sorted(each.name for each in out.iterdir() if not each.name.startswith(".")) == [
        *("attempts.parquet", "errors.parquet", "facts.parquet", "headway-fleet.json"),
        *("rollup.parquet", "slices.parquet"),
    ]

    def refused(*words: object, where: Path = out) -> str:
        done = subprocess.run(
            command("local[1]", few, where, *words), capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 2 and done.stdout == "", done
        return done.stderr

    assert "--replace" in refused()
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("years")
    assert "not replaced" in refused("--replace", where=other)
    assert (other / "thesis.txt").read_text() == "years"
    assert "hadoop-aws" in refused(where="s3://bucket/history")  # type: ignore[arg-type]
    shutil.rmtree(sorted(few.iterdir())[0])
    second = run(cluster, few, out, "--replace", "--tenant", "research")
    assert second["total"]["jobs"] == first["total"]["jobs"] - 1
    assert {row["tenant"] for row in table(out, "slices")} == {"research"}
    # Stopped while it works: nothing of it stays.
    process = subprocess.Popen(
        command(cluster.url, jobs, tmp_path / "stopped"), stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not list(tmp_path.glob(".stopped.partial-*")):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=120)
    deadline = time.monotonic() + 120
    while list(tmp_path.glob("*stopped*")) or list(tmp_path.glob(".stopped*")):
        assert time.monotonic() < deadline, list(tmp_path.iterdir())
        time.sleep(0.2)


def test_what_is_wrong_is_told_in_one_line(jobs: Path, tmp_path: Path) -> None:
    def fails(*words: object) -> str:
        done = headway("fleet", *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        return done.stderr

    out = tmp_path / "out"
    assert "--out" in fails("--spark", "local[1]", "--journals", jobs)
    assert "local[*]" in fails("--out", out, "--journals", jobs)
    assert "no folders of jobs" in fails("--journals", tmp_path)
    assert "no such" in fails("--journals", tmp_path / "nowhere").lower()
    spark = ("--spark", "local[1]", "--journals", jobs, "--out", out)
    assert "--stage" in fails("--spark", "spark://x:1", "--journals", "s3://b/p", "--out", out)
    assert "no such Python" in fails(*spark, "--python", tmp_path / "python")
    assert "setting of Spark" in fails(*spark, "--python", sys.executable, "--conf", "memory=1g")
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    assert "has no pyspark" in fails(*spark, "--python", bare / "bin/python")


def test_a_worker_needs_nothing_of_ours(tmp_path: Path) -> None:
    """What is sent there stands alone: its own libraries are beside the extension."""
    package = Path(HEADWAY).parent / "python"
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    missing = subprocess.run([sys.executable, "-c", "import headway"], env=alone, cwd=tmp_path)
    assert missing.returncode != 0
    script = (
        "import sys; from pathlib import Path; from headway.fleet import shipment;"
        "shipment.pack(Path(sys.argv[1]), *shipment.load_extension())"
    )
    archive = tmp_path / "archive.tar.gz"
    subprocess.run(
        [sys.executable, "-c", script, str(archive)],
        env=alone | {"PYTHONPATH": str(package)},
        check=True,
    )
    place = tmp_path / "place"
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    check = (
        "from headway.fleet import tasks; import headway;"
        "maps = open('/proc/self/maps').read();"
        f"assert headway.__file__.startswith({str(place)!r});"
        f"libs = [l for l in maps.splitlines() if 'libfmt' in l or 'libsimdjson' in l];"
        f"assert libs and all({str(place)!r} in l for l in libs), libs;"
        "assert 'headway/_core' not in maps"
    )
    subprocess.run(
        [sys.executable, "-c", check], env=alone | {"PYTHONPATH": str(place)}, check=True
    )
