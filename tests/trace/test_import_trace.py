"""A trace in a job's timeline: of a job without the hook, and beside what the hook recorded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEADWAY = os.environ.get("HEADWAY_BIN", "build/headway")

TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
compiled = torch.compile(model, dynamic=False)
for rows in (8, 8, 16):  # the last one is compiled again
    data = torch.utils.data.DataLoader(torch.ones(rows, 4), batch_size=rows)
    for batch in data:
        optimizer.zero_grad()
        compiled(batch).sum().backward()
        optimizer.step()
"""


class Job:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "train.py").write_text(TRAIN)
        self.env = {
            **os.environ,
            "HEADWAY_DIR": str(folder / "jobs"),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # half of the time
        }

    def call(self, *command: object, **variables: str) -> str:
        done = subprocess.run(
            [*map(str, command)],
            env=self.env | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, (done.stdout, done.stderr[-3000:])
        return done.stdout

    def headway(self, *arguments: object) -> str:
        return self.call(HEADWAY, *arguments)

    def report(self, job: str) -> dict[str, Any]:
        return json.loads(self.headway("report", job, "--json"))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def compile_ns(report: dict[str, Any]) -> dict[str, int]:
    return {name: report["compile"][f"{name}_ns"] for name in ("cold", "warm")}


def test_traced_without_the_hook(job: Job) -> None:
    traced: Callable[[str], str] = lambda name: job.call(  # noqa: E731
        sys.executable, "train.py", TORCH_TRACE=str(job.folder / name)
    )
    traced("cold")
    said = job.headway("import", "cold", "--job", "cold")
    assert "as torch-trace" in said and "headway report cold" in said
    report = job.report("cold")
    trace = json.loads(job.headway("trace", "cold", "--json"))
    took = {"cold": 0, "warm": 0}
    for one in trace["logs"][0]["compiles"]:
        for name in ("forward", "backward"):
            if one[name]:
                took["warm" if one["warm"] else "cold"] += one[name]["duration_us"] * 1000
    assert took["cold"] > 0 and took["warm"] == 0
    assert compile_ns(report) == took, "all of it, and in its bucket"
    assert "had" in job.headway("import", "cold", "--job", "cold")
    assert job.report("cold")["wall_ns"] == report["wall_ns"]

    traced("warm")
    job.headway("import", "warm", "--job", "warm")
    found = compile_ns(job.report("warm"))
    assert found["warm"] > 0 and found["cold"] == 0
    # The graphs are still cached; their kernels must be built again.
    for kernel in (job.folder / "cache").rglob("*.so"):
        kernel.unlink()
    traced("rebuilt")
    job.headway("import", "rebuilt", "--job", "rebuilt")
    found = compile_ns(job.report("rebuilt"))
    assert found["cold"] > 0


def test_beside_the_hook_nothing_counts_twice(job: Job) -> None:
    job.env["TORCH_TRACE"] = str(job.folder / "trace")
    job.headway("run", "--job", "hooked", "train.py")
    before = job.report("hooked")
    assert compile_ns(before)["cold"] > 0
    said = job.headway("import", "trace", "--job", "hooked")
    assert "are in the job's own records already" in said
    again = job.report("hooked")
    for part in ("l2", "l3", "compile", "wasted"):
        assert again[part] == before[part]
    # The same records without the hook's compilations: the trace tells them.
    lines = job.headway("export", "hooked", "--format", "jsonl").splitlines()
    kept = [line for line in lines if json.loads(line).get("phase") != "compile"]
    assert len(kept) < len(lines)
    shutil.rmtree(job.folder / "jobs")
    (job.folder / "events.jsonl").write_text("\n".join(kept) + "\n")
    job.headway("import", "trace", "events.jsonl", "--job", "hooked")
    after = job.report("hooked")
    assert after["wall_ns"] == before["wall_ns"]
    for report in (before, after):
        assert sum(report["l2"].values()) == report["wall_ns"], "exact"
    # What was compiled before the first step, and again after it. The hook's spans begin and end a
    # little outside of torch's own.
    for part, name in (("compile", "cold_ns"), ("wasted", "recompile_ns")):
        told, hooked = after[part][name], before[part][name]
        assert 0 < told <= hooked * 1.05 and told > hooked / 2, (name, told, hooked)
