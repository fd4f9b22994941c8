"""`headway interval` as a process: what it prints, draws and refuses."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from week import BLOCKING_S, LAG_S, STEP_S, Week

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway")).absolute()
HOOK = Path(os.environ.get("HEADWAY_PYTHON", ROOT / "build/python")).absolute()
EXAMPLE = ("--blocking", "15s", "--failures-per-day", "3")
SVG = "{http://www.w3.org/2000/svg}"
TIMEOUT_S = 60


def interval(
    *arguments: str, jobs: Path | None = None, text: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("HEADWAY_", "NO_COLOR"))
    }
    environment |= {"LC_ALL": "C.UTF-8", "HEADWAY_DIR": str(jobs or ROOT / "none")} | variables
    return subprocess.run(
        [HEADWAY, "interval", *arguments],
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def found(*arguments: str, **keys: str) -> dict:
    done = interval(*arguments, "--json", **keys)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failed call prints."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("headway: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


# ---- from stated costs


def test_the_example_by_its_numbers() -> None:
    answer = found(*EXAMPLE)
    assert answer["interval_s"] == pytest.approx(929.5, abs=0.05)
    assert answer["waste"]["total"] == pytest.approx(0.03227, abs=5e-6)
    assert answer["exact"]["interval_s"] == pytest.approx(919.5, abs=0.05)
    assert answer["exact"]["waste"] == pytest.approx(0.03193, abs=5e-6)
    assert [row["factor"] for row in answer["wrong_rate"]] == [2, 3, 10]
    costs = [row["cost"] for row in answer["wrong_rate"]]
    assert costs == pytest.approx([1.061, 1.155, 1.739], abs=5e-4)
    assert answer["failures"] == {"per_day": pytest.approx(3), "stated": True}
    assert "job" not in answer and "replayed" not in answer
    factors = [row["factor"] for row in answer["table"]]
    assert factors == pytest.approx([0.1, 0.2, 0.5, 1, 2, 5, 10])
    assert min(row["waste"]["total"] for row in answer["table"]) == answer["waste"]["total"]


def test_the_example_as_text() -> None:
    text = interval(*EXAMPLE).stdout
    first = text.splitlines()[0]
    assert "929.5 s" in first and "3.227%" in first
    assert "919.5 s, 3.193%" in text
    assert "1.061, 1.155 or 1.739 times" in text
    assert [line for line in text.splitlines() if "best" in line and "1.000" in line]
    assert "\x1b" not in text
    assert "\x1b[" in interval(*EXAMPLE, "--color", "always").stdout
    interval(*EXAMPLE, LC_ALL="C").stdout.encode("ascii")
    assert max(map(len, interval(*EXAMPLE, "--width", "60").stdout.splitlines())) <= 60


def test_times_may_have_units() -> None:
    for text in ("15", "15s", "0.25m", "15000ms"):
        answer = found("--blocking", text, "--failures-per-day", "3")
        assert answer["cost"]["blocking_s"] == 15, text
    assert found(*EXAMPLE, "--loop-time", "30d")["loop_s"] == 30 * 86400
    assert found(*EXAMPLE, "--horizon", "2h")["loop_s"] == 7200


def test_interference_and_lag_count() -> None:
    slow = ("--interference", "31s", "--failures-per-day", "3")
    answer = found("--blocking", "1s", *slow, "--persist-lag", "1h")
    assert answer["cost"]["effective_s"] == 32
    assert answer["interval_s"] == 3600, "one save at a time"
    assert answer["waste"]["lag"] == pytest.approx(3 / 24)
    assert not answer["table"][0]["possible"] and answer["table"][-1]["possible"]
    assert (
        "More often is not possible"
        in interval("--blocking", "1s", *slow, "--persist-lag", "1h").stdout
    )
    more = found("--blocking", "1s", *slow, "--persist-lag", "1h", "--saves-in-flight", "3")
    assert more["interval_s"] == pytest.approx((2 * 28800 * 32) ** 0.5)


def test_two_intervals_where_memory_outlives_the_process() -> None:
    answer = found(*EXAMPLE, "--stage", "100ms", "--process-share", "0.9")
    assert answer["stage_interval_s"] == pytest.approx((2 * 0.1 * 86400 / 2.7) ** 0.5)
    assert answer["interval_s"] == pytest.approx((2 * 14.9 * 86400 / 0.3) ** 0.5)
    assert answer["waste"]["total"] < 0.013
    assert "exact" not in answer
    assert "into memory every" in interval(*EXAMPLE, "--stage", "100ms").stdout


def test_without_a_rate_one_a_day_is_assumed() -> None:
    answer = found("--blocking", "15s")
    assert not answer["failures"]["stated"]
    assert answer["failures"]["per_day"] == pytest.approx(1)
    assert answer["failures"]["range_per_day"] == pytest.approx([0.0513, 2.9957], abs=1e-4)
    assert "assumed" in interval("--blocking", "15s").stdout


def test_says_what_is_wrong(tmp_path: Path) -> None:
    for arguments, words in (
        (("--blocking", "soon"), ("--blocking soon", "15s")),
        (("--blocking", "-1s"), ("--blocking -1s",)),
        (("--blocking", "15s", "--persist-lag", "1w"), ("--persist-lag 1w",)),
        (("--failures-per-day", "3"), ("--blocking is missing",)),
        (("--blocking", "15s", "--failures-per-day", "0"), ("--failures-per-day 0", "above 0")),
        (("--blocking", "15s", "--failures-per-day", "nan"), ("--failures-per-day nan",)),
        (("--blocking", "15s", "--failures-per-day", "inf"), ("--failures-per-day inf",)),
        (("--blocking", "15s", "--failures-per-day", "x"), ("--failures-per-day",)),
        (("--blocking", "0s"), ("costs nothing", "every step")),
        ((*EXAMPLE, "--saves-in-flight", "0"), ("--saves-in-flight",)),
        ((*EXAMPLE, "--stage", "1s", "--process-share", "2"), ("--process-share 2", "0 to 1")),
        ((*EXAMPLE, "--process-share", "0.5"), ("--process-share", "--stage")),
        ((*EXAMPLE, "--loop-time", "0"), ("--loop-time 0",)),
        ((*EXAMPLE, "--plot", f"{tmp_path}/no/where.svg"), ("/no/where.svg", "no folder", "mkdir")),
        ((*EXAMPLE, "--plot", f"{tmp_path}/out.png"), ("out.png", "is an SVG", "out.svg")),
        (("",), ("empty",)),
        (("nowhere.jsonl",), ("no such file",)),
        ((), ("no job under", "--blocking 15s")),
        ((*EXAMPLE, "--frobnicate"), ("frobnicate",)),
        ((*EXAMPLE, "--interferense", "1s"), ("did you mean `--interference`",)),
    ):
        said = complaint(interval(*arguments, jobs=tmp_path))
        for word in words:
            assert word in said, (arguments, said)


def test_help_has_an_example() -> None:
    done = interval("--help")
    assert done.returncode == 0
    assert "headway interval --blocking 15s --failures-per-day 3" in done.stdout


# ---- the picture


def texts(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    return [node.text or "" for node in root.iter(f"{SVG}text")]


def test_the_curve_as_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    assert interval(*EXAMPLE, "--plot", str(path)).returncode == 0
    words = texts(path)
    assert "best: 15m 30s, 3.227% wasted" in words
    assert {"2 min", "10 min", "1 h", "saving", "lost work"} <= set(words)
    text = path.read_text()
    assert "prefers-color-scheme:dark" in text
    assert text.count("http") == 1, "it needs nothing but itself"
    assert [entry.name for entry in tmp_path.iterdir()] == ["curve.svg"]


def test_a_picture_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    path.write_text("old")
    complaint(interval("--blocking", "soon", "--plot", str(path)))
    assert path.read_text() == "old"
    interval(*EXAMPLE, "--plot", str(path))
    assert path.read_text().startswith("<svg")


# ---- from a recorded job


@pytest.fixture(scope="module")
def week() -> tuple[Week, str]:
    job = Week(seed=1, every_s=3600)
    return job, job.tell()


def test_a_week_is_measured(week: tuple[Week, str]) -> None:
    job, lines = week
    answer = found("-", text=lines)
    seen = answer["job"]
    assert seen["saves"] == job.saves and seen["base_step_s"] == pytest.approx(STEP_S)
    assert answer["cost"]["blocking_s"] == pytest.approx(BLOCKING_S)
    assert answer["cost"]["persist_lag_s"] == pytest.approx(LAG_S)
    assert answer["cost"]["interference_s"] == pytest.approx(6 * STEP_S * 0.05)
    assert not answer["cost"]["assumed"]
    failures = seen["failures"]
    assert failures["process"] + failures["before_first_step"] == job.failures
    low, high = answer["failures"]["range_per_day"]
    assert low < 3 < high and low < answer["failures"]["per_day"] < high
    assert seen["used_interval_s"] == pytest.approx(3600, abs=30)
    assert 600 < answer["interval_s"] < 1500


def test_the_record_is_lived_again(week: tuple[Week, str]) -> None:
    _, lines = week
    answer = found("-", text=lines)
    rows = answer["table"]
    (used,) = [row for row in rows if row["used"]]
    recorded = answer["job"]["recorded"]
    # The same interval, lived again, wastes about what it did waste.
    assert used["replayed"]["waste"] == pytest.approx(recorded["waste"], rel=0.1)
    assert used["replayed"]["saves"] == pytest.approx(answer["job"]["saves"], rel=0.05)
    assert used["replayed"]["failures"] == answer["job"]["failures"]["process"]
    assert answer["replayed"]["waste"] < recorded["waste"]
    for row in rows:
        assert row["replayed"]["waste"] == pytest.approx(row["waste"]["total"], rel=0.35)


def test_what_it_recommends_is_better_when_done(week: tuple[Week, str]) -> None:
    _, lines = week
    before = found("-", text=lines)
    after = found("-", text=Week(seed=1, every_s=before["interval_s"]).tell())
    assert after["job"]["recorded"]["waste"] < 0.8 * before["job"]["recorded"]["waste"]
    assert after["job"]["recorded"]["waste"] == pytest.approx(before["replayed"]["waste"], rel=0.15)


def test_a_week_as_text_and_picture(week: tuple[Week, str], tmp_path: Path) -> None:
    _, lines = week
    path = tmp_path / "week.svg"
    text = interval("-", "--plot", str(path), text=lines).stdout
    assert text.startswith("job week ")
    for words in ("Saves seen", "of a process", "As it was", "90% sure", "replayed", " used "):
        assert words in text, words
    assert "How often to save: week" in texts(path)
    assert "replayed with its own failures" in texts(path)


def report(text: str) -> str:
    done = subprocess.run(
        [HEADWAY, "report", "-", "--width", "400"],
        input=text,
        env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.parametrize("days", [2, 9])
def test_the_report_says_the_same(days: int) -> None:
    lines = Week(seed=5, every_s=5000, days=days).tell()
    text = interval("-", text=lines).stdout
    (said,) = re.findall(r"Save every [\d.]+ s \((.+?)\)", text)
    assert report(lines).count(f"by what this job shows one every {said} costs least") == 1


def test_a_short_record_has_no_number(tmp_path: Path) -> None:
    lines = Week(seed=1, every_s=300, per_day=200, days=0.015).tell()
    said = r"The record is \d+ min long, with \d saves? and (no|\d) failures?: too short to say"
    plot = tmp_path / "no.svg"
    asked = interval("-", "--plot", str(plot), text=lines)
    text = " ".join(asked.stdout.split())
    assert re.search(said, text), text
    told = f"headway: --plot {plot}: no picture was written: the record is too short\n"
    assert asked.stderr == told
    assert "Save every" not in text and "Saves seen" in text
    assert not plot.exists()
    assert re.search(said, report(lines)) and "costs least" not in report(lines)
    answer = found("-", text=lines)
    assert answer["interval_s"] is None and "table" not in answer and answer["job"]["steps"] > 0
    assert re.match(said, answer["too_short"])
    assert found("-", *EXAMPLE, text=lines)["interval_s"] == pytest.approx(929.5, abs=0.05)


def test_only_the_last_week_counts() -> None:
    lines = Week(seed=2, every_s=3600, days=9).tell()
    assert found("-", text=lines)["job"]["loop_s"] == pytest.approx(7 * 86400, rel=0.02)
    whole = found("-", "--window", "..", text=lines)["job"]
    assert whole["loop_s"] == pytest.approx(9 * 86400, rel=0.02)
    day = found("-", "--window", "-1d..", text=lines)["job"]
    assert day["loop_s"] == pytest.approx(86400, rel=0.02) and day["saves"] < whole["saves"] / 7
    assert "not before" in complaint(interval("-", "--window", "20..10", text=lines))
    assert "in this window" in complaint(interval("-", "--window", "..1", text=lines))


def test_what_is_stated_goes_before_what_was_seen(week: tuple[Week, str]) -> None:
    _, lines = week
    answer = found("-", "--blocking", "1s", "--failures-per-day", "10", text=lines)
    assert answer["cost"]["effective_s"] == 1
    assert answer["failures"] == {"per_day": pytest.approx(10), "stated": True}
    assert answer["replayed"]["waste"] < found("-", text=lines)["replayed"]["waste"]


def test_says_what_it_assumes() -> None:
    quiet = Week(seed=1, every_s=1e9, per_day=0, days=1).tell()
    answer = found("-", text=quiet)
    assert answer["cost"]["assumed"] and answer["cost"]["blocking_s"] == 15
    assert answer["failures"]["per_day"] == pytest.approx(1 / 2, rel=0.01), "a day without one"
    text = " ".join(interval("-", text=quiet).stdout.split())
    assert "assumed, because no save was recorded; state it with --blocking" in text
    assert "assumed, because none was recorded: one in a day to begin with" in text


def test_a_job_without_a_step_has_nothing_to_say() -> None:
    lines = '{"t":1,"type":"mark","name":"launcher_start","rank":"agent"}\n'
    assert "no finished step" in complaint(interval("-", text=lines))


SCRIPT = """
import os, signal, time
import headway as hw
hw.init()
first = os.environ["HEADWAY_ATTEMPT"] == "1"
start = 0 if first else 20
if not first:
    hw.restore(20)
for number, _ in enumerate(hw.steps(range(start, 60)), start + 1):
    time.sleep(0.01)
    if first and number == 35:
        os.kill(os.getpid(), signal.SIGKILL)
    if number % 10 == 0:
        with hw.checkpoint_blocked():
            time.sleep(0.03)
        hw.checkpoint_durable(number)
"""


def test_a_job_that_was_really_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    jobs = tmp_path / "jobs"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HEADWAY_")}
    environment |= {"HEADWAY_DIR": str(jobs), "PYTHONPATH": str(HOOK)}
    command = [HEADWAY, "run", "--quiet", "--job", "real", "--max-restarts", "1"]
    subprocess.run(
        [*command, "train.py"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        timeout=300,
    )
    answer = found("real", jobs=jobs)
    seen = answer["job"]
    assert seen["name"] == "real" and seen["failures"]["process"] == 1
    assert seen["saves"] >= 6
    assert answer["cost"]["blocking_s"] >= 0.03
    assert seen["recorded"]["lost_s"] > 0
    assert found(jobs=jobs)["job"]["name"] == "real", "the most recent"
