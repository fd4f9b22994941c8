"""The demo reads journals with a few lines of its own, which must agree with the recorder; and in a
short form, without the compiler, it is run as a newcomer runs it."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from demo_faults import Fault, Journal

import demo

RECORD = """
import headway as hw
assert hw.init("j", dir=".", attempt=1)
for item in hw.steps(range(7)):
    with hw.phase("work"):
        pass
import os
print(os.getpid())
"""
SHORT = argparse.Namespace(
    steps=70, save_every=30, kill_rank_after=28, kill_all_after=58, no_compile=True
)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo happens, in place of the build folder."""
    folder = tmp_path / "demo"
    monkeypatch.setattr(demo, "FOLDER", folder)
    monkeypatch.setattr(demo, "JOBS", folder / "jobs")
    monkeypatch.setattr(demo, "HEADWAY", Path(os.environ.get("HEADWAY_BIN", demo.HEADWAY)))
    for name in [name for name in os.environ if name.startswith("HEADWAY_")]:
        monkeypatch.delenv(name)
    return folder


def test_steps_and_pid_are_read_from_a_real_journal(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HEADWAY_")}
    done = subprocess.run(
        [sys.executable, "-c", RECORD],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    journal = Journal(tmp_path / "j/1/rank-00000.hwj")
    assert journal.look() == 7
    assert journal.look() == 7, "what was read is remembered"
    assert journal.pid() == int(done.stdout)


def test_a_journal_that_is_not_there_yet_has_no_steps(tmp_path: Path) -> None:
    assert Journal(tmp_path / "none.hwj").look() == 0


def test_both_launchers_under_the_same_faults(
    stage: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    demo.demo(SHORT)
    shown = capfd.readouterr().out
    assert "\x1b[" not in shown, "colours are for terminals"
    assert "+    start = keeper.restore() or 0" in shown
    assert shown.count("kill -9 of rank 1 after step 28") == 3, "announced, and done twice"
    assert shown.count("kill -9 of all ranks after step 58") == 3
    assert "Steps replayed" in shown and "Not the same work" not in shown
    assert "after all three runs" in shown

    def report(job: str) -> dict:
        return json.loads(demo.ask("report", job, "--json"))

    ours, theirs = report("headway"), report("torchrun")
    for each in (ours, theirs):
        assert [row["outcome"] for row in each["attempts"]] == ["failed", "failed", "clean"]
        assert [row["signal"] for row in each["failures"]] == [9, 9]
    assert [row["restored_tier"] for row in ours["attempts"]] == ["", "replica", "replica"]
    # Saved every ten steps into memory, and every thirty to the disk.
    assert ours["steps"]["replayed"] < theirs["steps"]["replayed"]

    faults = [Fault(28, (1,)), Fault(58, (0, 1))]
    runs = [demo.Run(job, "", "", faults=faults) for job in ("headway", "torchrun")]
    with pytest.raises(demo.DemoError, match="not the same in the end: headway 1, torchrun 2"):
        demo.check(*runs, {"headway": "1", "torchrun": "2"})
    runs[1].faults = faults[:1]
    with pytest.raises(demo.DemoError, match="torchrun: 1 faults, and 2 interruptions"):
        demo.check(*runs, {})


def test_a_run_that_fails_is_told_with_its_output(
    stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "EXAMPLE", tmp_path)
    for name in ("train.py", "train_headway.py"):
        (tmp_path / name).write_text('"""Broken."""\nraise ValueError("no such table")\n')
    monkeypatch.setattr(demo, "arguments", lambda: SHORT)
    assert demo.main() == 1
    said = capsys.readouterr().err
    assert "demo: undisturbed: it ended with code 1" in said
    assert "ValueError: no such table" in said
    assert "undisturbed.log" in said
