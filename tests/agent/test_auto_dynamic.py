"""headway run --auto-dynamic: learnt from one start, applied at the next, and taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LONGEST_S = 900  # a bound for a hung test

TRAIN = """
import os, signal, sys, time
import torch
from torch._dynamo.utils import counters
from headway._warm import birth

setting = os.environ.get("TORCH_COMPILE_DYNAMIC_SOURCES", "")
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
BEFORE
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

@torch.compile(backend="aot_eager")
def compiled(x):
    return model(x)

for step in range(STEPS):
    compiled(torch.ones(8 + step % 3, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    AFTER
graphs = counters["stats"]["unique_graphs"]
known = torch.compiler.config.dynamic_sources
print(f"attempt {attempt} graphs {graphs} known {known!r} warm {birth.warm}", flush=True)
END
"""


def script(agent: Any, before: str = "", after: str = "", end: str = "", steps: int = 40) -> str:
    text = TRAIN.replace("STEPS", str(steps))
    for word, code in (("BEFORE", before), ("AFTER", after), ("END", end)):
        text = text.replace(word, code)
    return str(agent.script(text))


def train(agent: Any, path: str, *options: str, code: int = 0) -> tuple[str, str]:
    process = agent.start("--auto-dynamic", "--python", sys.executable, *options, path)
    out, err = process.communicate(timeout=LONGEST_S)
    assert process.returncode == code, (out[-2000:], err[-4000:])
    return out.decode(), err.decode()


def memory_of(agent: Any) -> Path:
    (path,) = (agent.jobs / ".dynamic").glob("*.json")
    return Path(path)


def test_learnt_applied_and_kept(hooked: Any) -> None:
    path = script(hooked)
    out, err = train(hooked, path, "--job", "one")
    assert "graphs 2 known ''" in out, out
    assert "learnt L['x']:0, dynamic from the next start on" in err, err
    assert "would have saved 1 of 2 compilations" in err
    (log,) = (hooked.jobs / "one" / "1" / "trace").iterdir()
    assert log.name.startswith("dedicated_log_torch_trace_")
    out, err = train(hooked, path, "--job", "two")
    assert "graphs 1 known \"L['x']:0\"" in out, out
    assert "1 source dynamic from the start: L['x']:0" in err, err
    kept = json.loads(memory_of(hooked).read_text())
    assert kept["sources"] == [{"source": "L['x']", "dim": 0}]
    assert [(one["applied"], one["steps"]) for one in kept["records"]] == [(False, 40), (True, 40)]
    assert all(one["measured"] > 30 and one["step_ns"] > 0 for one in kept["records"])
    told = json.loads(hooked.headway("report", "two", "--json").stdout)
    assert "auto_dynamic" in told["attrs"], told["attrs"]
    # Another family knows nothing of it.
    out, _ = train(hooked, path, "--job", "three", "--attr", "family=other")
    assert "graphs 2 known ''" in out, out


def test_taken_back_when_steps_are_slower_than_it_saves(hooked: Any) -> None:
    """The steps are timed as ever. What compiling took is put at nothing in the record of the run
    without, so that the verdict does not hang on how busy this machine is."""
    path = script(hooked, after="time.sleep(0.2 if setting else 0.001)")
    train(hooked, path, "--job", "one")
    kept = json.loads(memory_of(hooked).read_text())
    kept["records"][0] |= {"saved_us": 0, "spread_ns": 0}
    memory_of(hooked).write_text(json.dumps(kept))
    _, err = train(hooked, path, "--job", "two")
    assert "taken back: a step takes 2" in err and "without: " in err, err
    assert json.loads(memory_of(hooked).read_text())["taken_back"]
    out, err = train(hooked, path, "--job", "three")
    assert "graphs 2 known ''" in out, out
    assert "auto-dynamic: not applied, a step takes 2" in err, err
    assert str(memory_of(hooked)) in err
    told = json.loads(hooked.headway("report", "two", "--json").stdout)
    assert told["attrs"]["auto_dynamic"].startswith("taken back: "), told["attrs"]


@pytest.mark.parametrize("cold", [False, True])
def test_a_restart_has_what_the_crash_taught(hooked: Any, cold: bool) -> None:
    """Forked ranks have torch imported already: they are told."""
    path = script(hooked, end="if attempt == 0: os.kill(os.getpid(), signal.SIGKILL)")
    options = ["--nproc", "2", "--max-restarts", "1", "--job", "one", *(["--cold"] * cold)]
    out, err = train(hooked, path, *options)
    assert out.count("attempt 0 graphs 2 known ''") >= 1, out
    assert out.count("attempt 1 graphs 1 known \"L['x']:0\"") == 2, (out, err)
    assert out.count(f"warm {not cold}") >= 2, out
    logs = list((hooked.jobs / "one" / "2" / "trace").iterdir())
    assert len(logs) == 2, "each attempt's own folder"


def test_an_attempt_that_it_breaks_is_made_again_without(hooked: Any) -> None:
    path = script(hooked, before='if setting: raise RuntimeError("a fault of the compiler")')
    train(hooked, path, "--job", "one")
    out, err = train(hooked, path, "--job", "two")
    assert "taken back: the attempt failed before its first step; going on without it" in err, err
    assert "attempt 1 graphs 2 known ''" in out, (out, err)


def test_a_file_that_is_damaged_and_one_that_cannot_be_written(hooked: Any) -> None:
    path = script(hooked, steps=4)
    train(hooked, path, "--job", "one")
    memory = memory_of(hooked)
    whole = memory.read_text()
    memory.write_text(whole[:-20])
    out, err = train(hooked, path, "--job", "two")
    assert f"--auto-dynamic begins anew: {memory}: it is not JSON" in err, err
    assert "graphs 2 known ''" in out
    assert json.loads(memory.read_text())["sources"], "learnt again"
    memory.unlink()
    memory.mkdir()
    out, err = train(hooked, path, "--job", "three")
    assert "graphs 2" in out and "--auto-dynamic begins anew" in err and "forgets" in err, err


def test_what_the_user_has_set_is_left_alone(hooked: Any) -> None:
    path = script(hooked, steps=4)
    hooked.environment["TORCH_COMPILE_DYNAMIC_SOURCES"] = "L['nothing']"
    out, err = train(hooked, path, "--job", "one")
    assert "known \"L['nothing']\"" in out, out
    assert "--auto-dynamic does nothing: TORCH_COMPILE_DYNAMIC_SOURCES is set already" in err
    assert not (hooked.jobs / "one" / "1" / "trace").exists()
    del hooked.environment["TORCH_COMPILE_DYNAMIC_SOURCES"]
    own = hooked.folder / "own"
    hooked.environment["TORCH_TRACE"] = str(own)
    train(hooked, path, "--job", "two")
    assert list(own.iterdir()) and not (hooked.jobs / "two" / "1" / "trace").exists()
    out, _ = train(hooked, path, "--job", "three")
    assert "graphs 1" in out, "learnt from the user's own trace"


def test_a_job_that_compiles_nothing(hooked: Any) -> None:
    done = hooked.run(
        "--auto-dynamic", "--python", sys.executable, "--job", "one", hooked.script("print(1)")
    )
    assert done.returncode == 0 and b"auto-dynamic" not in done.stderr, done.stderr


def test_the_trace_is_bounded(hooked: Any) -> None:
    """From the soft bound on only what is learnt from is written."""
    path = script(
        hooked,
        before="from headway._auto import compile_trace; compile_trace.SOFT_BYTES = 1000",
    )
    train(hooked, path, "--job", "one")
    (log,) = (hooked.jobs / "one" / "1" / "trace").iterdir()
    text = log.read_text()
    assert '{"aot_forward_graph"' not in text and '"automatic_dynamic"' in text
    assert json.loads(memory_of(hooked).read_text())["sources"]
    found = subprocess.run(
        [hooked.binary, "trace", str(log), "--dynamic-sources", "--json"],
        capture_output=True,
        check=True,
    )
    assert json.loads(found.stdout)["dynamic_sources"]["saved"] == 1
