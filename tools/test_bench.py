"""bench/run.py with programs that fail: the others run nevertheless, and who failed is named."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROW = '{"name": "NAME", "unit": "s", "ours": 1.0, "peer": 2.0, "peer_name": "it"}'


def bench(folder: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[str, str]) -> int:
    about = importlib.util.spec_from_file_location("bench_run", ROOT / "bench/run.py")
    assert about is not None and about.loader is not None
    run = importlib.util.module_from_spec(about)
    about.loader.exec_module(run)
    commands = []
    for name, code in programs.items():
        place = folder / name
        if code:
            place.write_text(code)
        commands.append([sys.executable, str(place)] if code else [str(place)])
    monkeypatch.setattr(run, "PROGRAMS", commands)
    monkeypatch.setattr(sys, "argv", ["run.py", "--out", str(folder / "bench.json")])
    return run.main()


def test_the_others_run_and_who_failed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def row(name: str) -> str:
        return f"print({ROW.replace('NAME', name)!r}, flush=True)\n"

    programs = {
        "bench_half.py": row("half") + "raise SystemExit(3)",
        "bench_missing": "",
        "bench_good.py": row("good"),
    }
    assert bench(tmp_path, monkeypatch, programs) == 1
    out, told = capfd.readouterr()
    assert "half" in out and "good" in out
    # What was measured before is kept.
    rows = json.loads((tmp_path / "bench.json").read_text())
    assert [one["name"] for one in rows] == ["half", "good"]
    assert told.splitlines()[-2:] == [
        "bench: bench_half.py ended with code 3",
        "bench: bench_missing cannot be started: No such file or directory",
    ]


def test_all_that_end_well_are_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bench(tmp_path, monkeypatch, {"bench_good.py": f"print({ROW!r})"}) == 0
