"""What torch itself writes: a function that is compiled, compiled again, found in the cache, and
missed because of one setting."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

Run = Callable[..., subprocess.CompletedProcess[str]]

SCRIPT = """
import os
import torch
import torch._inductor.config as config

config.cpp.max_horizontal_fusion_size = int(os.environ.get("FUSION", "16"))

@torch.compile
def scaled(x):
    if x.shape[0] > 100:
        torch._dynamo.graph_break()
    return torch.relu(x) * 2

for rows in map(int, os.environ["ROWS"].split(",")):
    scaled(torch.ones(rows, 4))
"""


def test_compiled_again_found_and_missed(headway: Run, compiled: Callable[..., Path]) -> None:
    first = compiled("first", SCRIPT, ROWS="8,9,10,200")
    told = json.loads(headway("trace", first, "--verify", "--json").stdout)
    (log,) = told["logs"]
    assert log["torch"].startswith("2.") and log["rank"] is None
    read = log["read"]
    assert read["records"] > 50 and read["wrong_payloads"] == 0, "the payloads' own MD5"
    assert not any(read[kind] for kind in ("foreign_lines", "stray_lines", "bad_records")), read
    once, again, *_broken = log["compiles"]
    assert (once["id"], once["name"], once["recompile"]) == ("0/0", "scaled", False)
    assert once["caches"] and all(ask["outcome"] == "miss" for ask in once["caches"])
    assert (again["id"], again["recompile"], again["finished"]) == ("0/1", True, True)
    assert "size mismatch at index 0. expected 8, actual 9" in again["recompile_reasons"][0]
    assert [(one["source"], one["dim"]) for one in again["dynamic"]] == [("L['x']", 0)]
    for one in log["compiles"]:
        passes = [one[name] for name in ("forward", "backward") if one[name]]
        for times in passes:
            stages = ("dynamo", "aot", "inductor", "codegen", "kernels")
            assert sum(times[f"{stage}_us"] for stage in stages) == times["duration_us"]
    breaks = [one for each in log["compiles"] for one in each["graph_breaks"]]
    assert any("graph_break()" in one["reason"] for one in breaks), breaks
    assert once["forward"]["kernels_us"] > 0, "a C++ compiler ran"

    second = compiled("second", SCRIPT, ROWS="8")
    told = json.loads(headway("trace", second, "--json").stdout)
    (only,) = told["logs"][0]["compiles"]
    assert only["warm"], only["caches"]

    third = compiled("third", SCRIPT, ROWS="8", FUSION="8")
    (alone,) = json.loads(headway("trace", third, "--json").stdout)["misses"]
    assert alone["nearest"] is None
    told = json.loads(headway("trace", third, "--against", first, "--json").stdout)
    (miss,) = told["misses"]
    assert miss["nearest"]["in_other_trace"] and miss["nearest"]["id"] == "0/0"
    assert len(miss["differs"]) == 1, miss
    (change,) = miss["differs"]
    assert "max_horizontal_fusion_size" in change["component"]
    assert (change["was"], change["is"]) == ("16", "8")

    page = headway("trace", first).stdout
    assert "Compiled again: " in page and "made dynamic: L['x']:0" in page, page
    assert "Graph breaks" in page and "Caches: asked" in page, page
    page = headway("trace", third, "--against", first).stdout
    assert "max_horizontal_fusion_size] (16 -> 8)" in " ".join(page.split()), page


def test_two_ranks_that_differ(headway: Run, compiled_by_two: Callable[..., Path]) -> None:
    folder = compiled_by_two(
        "ranks",
        """
def train(number):
    f = torch.compile(lambda x: x * 2 + 1, backend="aot_eager")
    g = torch.compile(lambda x: x - 1, backend="aot_eager")
    f(torch.ones(3))
    if number == 1:
        g(torch.ones(3))
""",
    )
    told = json.loads(headway("trace", folder, "--json").stdout)
    assert [log["rank"] for log in told["logs"]] == [0, 1]
    (found,) = told["divergences"]
    assert found["how"] in ("not compiled by these", "compiled by these only")
    page = headway("trace", folder).stdout
    assert "Ranks that did not compile the same" in page and "rank 1" in page, page
    (log,) = json.loads(headway("trace", folder, "--rank", 1, "--json").stdout)["logs"]
    assert log["rank"] == 1
    error = headway("trace", folder, "--rank", 7, code=2).stderr
    assert error == "headway: --rank 7: these logs are of rank 0, 1\n"


def test_rotated_it_tells_the_same(
    headway: Run, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    """Cut where logrotate may cut, in the middle of a line too, under all of its names."""
    folder = compiled("whole", SCRIPT, ROWS="8,9,10,200")
    (log,) = folder.glob("*.log")
    whole = log.read_bytes()
    named = [f"{log.name}-20260101", f"{log.name}.10", f"{log.name}.2", f"{log.name}.1", log.name]
    random = Random(20261118)
    cuts = [0, *sorted(random.randrange(len(whole)) for _ in named[1:]), len(whole)]
    rotated = tmp_path / "rotated"
    rotated.mkdir()
    for name, begin, end in zip(named, cuts, cuts[1:], strict=False):
        (rotated / name).write_bytes(whole[begin:end])

    def told(*what: object) -> str:
        said = headway("trace", *what, "--json", "--verify").stdout
        return said.replace(str(folder), "").replace(str(rotated), "")

    assert json.loads(told(folder))["logs"][0]["compiles"]
    assert told(rotated) == told(folder)
    assert told(rotated / log.name) == told(rotated / f"{log.name}.2") == told(folder)
    report, cut = tmp_path / "report", tmp_path / "cut"
    headway("trace", folder, "--html", report)
    headway("trace", rotated, "--html", cut)
    texts = [path.relative_to(report) for path in sorted(report.rglob("*.txt"))]
    assert len(texts) > 20
    for path in texts:
        assert (cut / path).read_bytes() == (report / path).read_bytes(), path
    # The newest has just been moved away, and torch has not begun another one.
    (rotated / log.name).unlink()
    (only,) = json.loads(headway("trace", rotated, "--json").stdout)["logs"]
    assert only["path"].endswith(log.name) and only["read"]["bytes"] == cuts[-2]
