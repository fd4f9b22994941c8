"""`headway report` as a process: what it prints, where, and how it exits."""

import itertools
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))
GOLDEN = Path(__file__).parent
TIMEOUT_S = 60
FINISHED = ("normal", "crash_replay", "crash_loop", "requeue", "straggler")


def report(
    *arguments: str, jobs: Path | None = None, text: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("HEADWAY_", "NO_COLOR"))
    }
    environment |= {"LC_ALL": "C.UTF-8", "HEADWAY_DIR": str(jobs or GOLDEN / "none")} | variables
    return subprocess.run(
        [HEADWAY, "report", *arguments],
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def metrics(jobs: Path) -> str:
    command = [HEADWAY, "export", "live", "--format", "openmetrics", "--dir", str(jobs)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def golden(name: str) -> str:
    return (GOLDEN / name).read_text()


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failed call prints."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("headway: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", FINISHED)
def test_prints_what_the_library_does(name: str) -> None:
    path = str(GOLDEN / f"{name}.jsonl")
    assert report(path).stdout == golden(f"{name}.txt")
    assert report(path, "--json").stdout == golden(f"{name}.json")
    assert report("-", "--json", text=golden(f"{name}.jsonl")).stdout == golden(f"{name}.json")


def test_order_of_lines_does_not_matter() -> None:
    lines = golden("crash_replay.jsonl").splitlines(keepends=True)
    shuffled = "".join(reversed(lines))
    assert report("-", "--json", text=shuffled).stdout == golden("crash_replay.json")


def test_style_follows_the_environment() -> None:
    path = str(GOLDEN / "normal.jsonl")
    assert report(path, "--width", "80", LC_ALL="C").stdout == golden("normal.ascii.txt")
    assert report(path, "--color", "always").stdout == golden("normal.color.txt")
    assert report(path, "--color", "never", LC_ALL="", LANG="en_US.UTF-8").stdout == golden(
        "normal.txt"
    )


def test_two_jobs_side_by_side(tmp_path: Path) -> None:
    job, other = (str(GOLDEN / f"{name}.jsonl") for name in ("requeue", "crash_replay"))
    assert report(job, "--against", other).stdout == golden("against.txt")
    assert report(job, "--against", other, "--json").stdout == golden("against.json")
    assert report(job, "--against", other, "--color", "always").stdout == golden(
        "against.color.txt"
    )
    # --job says which one of the first input; the measure is found under the same --dir.
    both = tmp_path / "both.jsonl"
    both.write_text(golden("requeue.jsonl") + golden("normal.jsonl"))
    (tmp_path / "jobs/night").mkdir(parents=True)
    (tmp_path / "jobs/night/events.jsonl").write_text(golden("crash_replay.jsonl"))
    arguments = ("--job", "requeue", "--against", "night", "--dir", str(tmp_path / "jobs"))
    found = json.loads(report(str(both), *arguments, "--json").stdout)
    assert (found["job"], found["numbers"]) == (
        "requeue",
        json.loads(golden("against.json"))["numbers"],
    )


@pytest.mark.parametrize("name", FINISHED)
def test_touching_windows_sum_to_the_whole(name: str) -> None:
    path = str(GOLDEN / f"{name}.jsonl")
    whole = json.loads(report(path, "--json").stdout)
    parts = [
        json.loads(report(path, "--json", "--window", window).stdout)
        for window in ("..33.3", "33.3..1m33s", "1m33s..")
    ]
    for key in ("wall_ns", "queued_ns", "failure_ns", "unsaved_ns"):
        assert sum(part[key] for part in parts) == whole[key], key
    for table in ("l2", "l3", "compile", "wasted", "shutdown"):
        for key, value in whole[table].items():
            assert sum(part[table][key] for part in parts) == value, (table, key)
    assert sum(part["steps"]["finished"] for part in parts) == whole["steps"]["finished"]
    assert [row for part in parts for row in part["failures"]] == whole["failures"]


def test_an_open_window_takes_in_the_last_instant() -> None:
    lines = """{"t":0,"type":"step","step":1}
{"t":1,"type":"step_end","step":1}
{"t":2,"type":"mark","name":"failure","exit_code":3}
"""
    found = json.loads(report("-", "--json", "--window", "1..", text=lines).stdout)
    assert [row["exit_code"] for row in found["failures"]] == [3]
    assert (found["begin_ns"], found["end_ns"]) == (10**9, 2 * 10**9)


def loop(*body: tuple[float, float, str]) -> str:
    """Lines of a job: spans and, under the name "step", steps, in seconds."""
    lines = []
    numbers = itertools.count(1)
    for begin, end, what in body:
        key = {"step": next(numbers)} if what == "step" else {"phase": what}
        kinds = ("step", "step_end") if what == "step" else ("begin", "end")
        lines += [
            {"t": t, "type": kind, **key} for t, kind in zip((begin, end), kinds, strict=True)
        ]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize("phase", ("eval", "checkpoint_blocked"))
def test_a_window_sees_what_lay_between_two_steps(phase: str) -> None:
    text = loop((0, 1, "step"), (1, 2, phase), (2, 3, "step"))
    for window, effective, wasted in (("0..1", 1, 0), ("1..2", 0, 1), ("2..3", 1, 0)):
        found = json.loads(report("-", "--json", "--window", window, text=text).stdout)
        assert found["l2"]["effective_ns"] == effective * 10**9, window
        assert found["wasted"][f"{phase}_ns"] == wasted * 10**9, window
        assert found["wall_ns"] == 10**9


def test_the_most_recent_job_is_the_default(tmp_path: Path) -> None:
    for age, name in enumerate(("old", "new")):
        (tmp_path / name).mkdir()
        line = '{"t":1,"type":"step","step":1}\n{"t":3,"type":"step_end","step":1}\n'
        (tmp_path / name / "events.jsonl").write_text(line)
        os.utime(tmp_path / name, (1000 + age, 1000 + age))
    first = report("--width", "400", jobs=tmp_path).stdout.splitlines()[0]
    assert first.startswith("job new ") and f"the most recent in {tmp_path}" in first
    assert report("old", jobs=tmp_path).stdout.startswith("job old ")
    assert json.loads(report("--json", jobs=tmp_path).stdout)["job"] == "new"


def test_dir_is_the_folder_of_all_jobs(tmp_path: Path) -> None:
    for root, length in (("here", 2), ("there", 5)):
        folder = tmp_path / root / "night"
        folder.mkdir(parents=True)
        (folder / "events.jsonl").write_text(loop((0, length, "step")))
    here, there = tmp_path / "here", tmp_path / "there"
    for named in (("night",), ()):  # by its name, and as the most recent
        arguments = (*named, "--json", "--dir", str(there))
        assert json.loads(report(*arguments, jobs=here).stdout)["wall_ns"] == 5 * 10**9
    assert json.loads(report("night", "--json", jobs=here).stdout)["wall_ns"] == 2 * 10**9
    first = report("--dir", str(there), "--width", "400", jobs=here).stdout.splitlines()[0]
    assert f"the most recent in {there}" in first
    assert f"under {there}" in complaint(report("day", "--dir", str(there), jobs=here))
    nowhere = str(tmp_path / "nowhere")
    assert f"no job under {nowhere}" in complaint(report("--dir", nowhere, jobs=here))
    exported = [HEADWAY, "export", "night", "--format", "jsonl", "--dir", str(there)]
    rows = subprocess.run(exported, capture_output=True, text=True, check=True).stdout.splitlines()
    assert json.loads(rows[-1])["t_ns"] == 5 * 10**9
    # A path is a path, wherever the jobs lie.
    assert report(str(here / "night"), "--dir", str(there)).stdout.startswith("job night ")


def test_says_what_is_wrong(tmp_path: Path) -> None:
    path = str(GOLDEN / "normal.jsonl")
    assert "no job under" in complaint(report(jobs=tmp_path))
    assert "no such file" in complaint(report("nowhere.jsonl", jobs=tmp_path))
    assert '"soon"' in complaint(report(path, "--window", "soon..10"))
    assert "not before" in complaint(report(path, "--window", "20..10"))
    assert "--width" in complaint(report(path, "--width", "7"))
    assert "--color" in complaint(report(path, "--color", "pink"))
    assert "no job other" in complaint(report(path, "--job", "other"))
    complaint(report(path, "--frobnicate"))
    assert "nowhere.jsonl" in complaint(report(path, "--against", "nowhere.jsonl"))
    assert "name of the job is empty" in complaint(report(path, "--against", ""))
    assert "--window" in complaint(report(path, "--against", path, "--window", "1..2"))
    bad = golden("normal.jsonl") + "{]\n"
    assert ":63:" in complaint(report("-", text=bad))
    skipped = report("-", "--skip-bad", text=bad)
    assert skipped.returncode == 0 and "1 line could not be read" in skipped.stdout


def test_nothing_to_tell(tmp_path: Path) -> None:
    complaint(report("-", text=""))
    waiting = '{"t":5,"job":"w","type":"mark","name":"submitted"}\n'
    done = report("-", text=waiting)
    assert done.returncode == 0 and "no wall time yet" in done.stdout
    beyond = report(str(GOLDEN / "normal.jsonl"), "--window", "1000..2000")
    assert beyond.returncode == 0 and "no wall time in this window" in beyond.stdout


def test_a_full_disk_is_not_a_report() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [HEADWAY, "report", GOLDEN / "normal.jsonl"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
        )
    assert done.returncode == 2 and "cannot be written" in done.stderr


def test_a_job_is_running_while_its_launcher_lives(tmp_path: Path) -> None:
    environment = dict(os.environ, HEADWAY_DIR=str(tmp_path))
    job = subprocess.Popen(
        [HEADWAY, "run", "--quiet", "--job", "live", "--", "sleep", "600"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + TIMEOUT_S
        found = report("live", jobs=tmp_path)
        while " running " not in found.stdout and time.monotonic() < deadline:
            time.sleep(0.1)
            found = report("live", jobs=tmp_path)
        assert " running " in found.stdout.splitlines()[0], found
        earlier = json.loads(report("live", "--json", jobs=tmp_path).stdout)
        later = json.loads(report("live", "--json", jobs=tmp_path).stdout)
        assert earlier["state"] == later["state"] == "running"
        assert 'headway_job_running{job="live"} 1' in metrics(tmp_path)
        assert later["wall_ns"] > earlier["wall_ns"]  # up to now, though nothing was recorded
    finally:
        job.kill()
        job.wait()
    dead = report("live", jobs=tmp_path)
    assert "no end recorded" in dead.stdout.splitlines()[0], dead
    assert json.loads(report("live", "--json", jobs=tmp_path).stdout)["state"] == "unended"
    assert 'headway_job_running{job="live"} 0' in metrics(tmp_path)
