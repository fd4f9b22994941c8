"""Inductor's own autotuning on a CPU: with freezing it times a C++ template against MKL for every
matrix product. Recorded under `headway run`, pinned, and run again with the pins."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = """
import sys, torch, torch._inductor.config as config
torch.set_num_threads(1)
config.freezing = config.max_autotune = True
config.autotune_num_choices_displayed = 0
layer = torch.nn.Linear(128, 256).eval()
compiled = torch.compile(layer, dynamic=False)
with torch.no_grad():
    for rows in map(int, sys.argv[1:]):
        torch._dynamo.reset()
        x = torch.randn(rows, 128)
        assert torch.allclose(compiled(x), layer(x), atol=1e-4)
print("trained")
"""


@pytest.fixture
def train(headway: Run, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)

    def run(job: str, rows: list[int], *options: object) -> subprocess.CompletedProcess[str]:
        done = headway(
            *("run", "--cold", "--job", job, *options, script, *rows),
            TORCHINDUCTOR_CACHE_DIR=str(tmp_path / f"cache-{job}"),
            TORCHINDUCTOR_COMPILE_THREADS="1",
            TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS="0",
        )
        assert "trained" in done.stdout
        return done

    return run


def tunings(tmp_path: Path, job: str) -> list[dict[str, Any]]:
    files = list((tmp_path / "jobs" / job).glob("*/autotune-0.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_recorded_pinned_and_applied(headway: Run, train: Any, tmp_path: Path) -> None:
    train("full", [64, 96])
    told = tunings(tmp_path, "full")
    assert len(told) == 2
    for line in told:
        assert line["kind"] == "inductor" and not line["pruned"] and line["tuning_s"] > 0
        assert len(line["configs"]) == 2 and line["hardware"].startswith("cpu ")
    assert told[0]["key"] != told[1]["key"]

    # ε of 0: what each tuning found best, however close the other was on a busy machine.
    pins = tmp_path / "pins.py"
    arguments = ("autotune", "--epsilon", "0", "--pins", pins, "--json")
    found = json.loads(headway(*arguments).stdout)
    (kernel,) = found["kernels"]
    (shape,) = kernel["classes"]  # 64 and 96: one power of two, 16 divides both
    winners = {min(line["configs"], key=lambda config: config[1])[0] for line in told}
    assert set(shape["keep"]) == winners

    done = train("pinned", [112, 1000], "--autotune-pins", pins)
    assert "tuning in full" not in done.stderr
    again = tunings(tmp_path, "pinned")
    if len(winners) == 1:  # taken without timing; 1000 rows are another class
        assert [line["key"][1] for line in again] == [1000]
    else:  # both won once, and both stay
        assert len(again) == 2
    assert all(len(line["configs"]) == 2 and not line["pruned"] for line in again)


def test_pins_that_leave_one_choice(headway: Run, train: Any, tmp_path: Path) -> None:
    """The slower choice by choice of the test: what is pinned is what runs."""
    train("full", [64])
    (line,) = tunings(tmp_path, "full")
    (first, _), (second, _) = line["configs"]
    for kept, lost in ((first, second), (second, first)):
        changed = {**line, "configs": [[kept, 1.0], [lost, 100.0]]}
        folder = tmp_path / "changed"
        folder.mkdir(exist_ok=True)
        (folder / "autotune-0.jsonl").write_text(json.dumps(changed) + "\n")
        pins = tmp_path / "pins.py"
        headway("autotune", folder, "--pins", pins)
        job = f"only-{kept.split()[0].strip('_')}"
        train(job, [64], "--autotune-pins", pins)
        assert tunings(tmp_path, job) == []  # nothing was left to time
        code = "".join(p.read_text() for p in (tmp_path / f"cache-{job}").rglob("*.py"))
        assert ("_mkl_linear" in code) == ("_mkl_linear" in kept), (kept, code[-2000:])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("this is no Python", "SyntaxError"),
        ("FORMAT = 2", "pins of format 2; this Headway knows 1"),
        ("FORMAT = 1", "install_inductor: AttributeError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        (None, "No such file"),
    ],
)
def test_broken_pins_cost_a_note(
    headway: Run, tmp_path: Path, text: str | None, problem: str
) -> None:
    pins = tmp_path / "pins.py"
    if text is not None:
        pins.write_text(text)
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nfrom torch._inductor import select_algorithm as s\n"
        "assert len(s.get_algorithm_selector_cache().preprocessing_fns) >= 2\nprint('trained')\n"
    )
    done = headway("run", "--cold", "--autotune-pins", pins, script)
    assert "trained" in done.stdout
    notes = [line for line in done.stderr.splitlines() if "--autotune-pins" in line]
    assert len(notes) == 1 and problem in notes[0] and notes[0].endswith("; tuning in full"), notes


def test_pins_that_are_not_there_are_told_where_nothing_is_tuned(
    headway: Run, tmp_path: Path
) -> None:
    script = tmp_path / "plain.py"
    script.write_text("print('trained')\n")
    run = ["run", "--quiet", "--nproc", "2", "--autotune-pins"]
    done = headway(*run, tmp_path / "nosuch.py", script)
    assert done.stdout.count("trained") == 2
    assert done.stderr.count("--autotune-pins") == 1, done.stderr
    assert f"{tmp_path / 'nosuch.py'}: " in done.stderr
    assert "--autotune-pins" not in headway(*run, script, script).stderr
