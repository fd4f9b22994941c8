"""What torch itself writes: a function that is compiled, compiled again, found in the cache, and
missed because of one setting."""

from __future__ import annotations

import html
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

Run = Callable[..., subprocess.CompletedProcess[str]]
PAGE = "log0/0_0/index.html"

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
    # The script comes from the command line: its file is "<string>".
    inner = [one["stack"][-1] for one in breaks]
    assert all(one["file"] == "<string>" and one["function"] == "scaled" for one in inner), breaks
    assert {f"<string>:{one['line']}" for one in inner} == {one["where"] for one in breaks}
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
    assert f"<string>:{inner[0]['line']} in scaled" not in page
    page = headway("trace", first, "--all").stdout
    assert f"<string>:{inner[0]['line']} in scaled\n" in page, page
    page = headway("trace", third, "--against", first).stdout
    assert "max_horizontal_fusion_size] (16 -> 8)" in " ".join(page.split()), page


def test_sizes_that_hold_for_one_value(
    headway: Run, compiled: Callable[..., Path], tmp_path: Path
) -> None:
    """Symbols, the guards on them, and which of them became one value."""
    folder = compiled(
        "sizes",
        """
import torch

def shaped(x):
    if x.shape[0] > 5:
        x = x + 1
    if x.shape[1] == 7:
        x = x * 2
    return x

def outer(x):
    return shaped(x)

torch.compile(outer, backend="aot_eager", dynamic=True)(torch.ones(8, 7))
""",
    )
    told = json.loads(headway("trace", folder, "--json").stdout)
    (log,) = told["logs"]
    (once,) = log["compiles"]
    symbols = {one["source"]: one for one in once["symbols"]}
    rows, columns = symbols["L['x'].size()[0]"], symbols["L['x'].size()[1]"]
    assert (rows["value"], columns["value"]) == ("8", "7") and "int_oo" in rows["range"]
    (special,) = once["specialised"]
    assert (special["sources"], special["value"]) == ("L['x'].size()[1]", "7")
    assert special["symbol"] == columns["symbol"] and special["reason"]
    calls = [(one["file"], one["line"], one["function"]) for one in special["stack"]]
    assert calls == [("<string>", 12, "outer"), ("<string>", 7, "shaped")]
    guards = {one["guard"]: one["stack"][-1]["line"] for one in once["size_guards"]}
    assert guards[f"{rows['symbol']} > 5"] == 5 and 7 in guards.values(), guards
    assert "symbolic_shape_specialization" not in log["ignored"], log["ignored"]

    page = headway("trace", folder).stdout
    row = f"outer (<string>:11): L['x'].size()[1] is 7 ({special['reason']})"
    assert "For one value only" in page and row in page and "in shaped" not in page, page
    page = headway("trace", folder, "--all").stdout
    assert "<string>:12 in outer\n" in page and "<string>:7 in shaped\n" in page, page
    report = tmp_path / "report"
    headway("trace", folder, "--html", report)
    texts = [html.unescape((report / name).read_text()) for name in ("index.html", PAGE)]
    assert row in texts[0]
    for shown in ("<string>:7 in shaped", f"{rows['symbol']} > 5", rows["range"]):
        assert shown in texts[1], shown


def test_caches_that_were_passed_over(headway: Run, compiled: Callable[..., Path]) -> None:
    """AOTAutograd's cache does not know the function."""
    folder = compiled(
        "bypassed",
        """
import torch

@torch._dynamo.allow_in_graph
def unknown(x):
    return x * 2

@torch.compile
def passed_over(x):
    return unknown(x) + 1

passed_over(torch.ones(3))
""",
    )
    told = json.loads(headway("trace", folder, "--json").stdout)
    (once,) = told["logs"][0]["compiles"]
    (bypass,) = (one for one in once["caches"] if one["outcome"] == "bypass")
    assert bypass["cache"] == "aot_autograd" and "unknown" in bypass["reason"], bypass
    page = " ".join(headway("trace", folder).stdout.split())
    assert "1 bypass" in page and "aot_autograd bypassed: " in page, page


def test_what_autotuning_cost(headway: Run, compiled: Callable[..., Path]) -> None:
    """With freezing, inductor times a C++ template against MKL for every matrix product."""
    folder = compiled(
        "tuned",
        """
import torch, torch._inductor.config as config
torch.set_num_threads(1)
config.freezing = config.max_autotune = True
config.autotune_num_choices_displayed = 0
layer = torch.nn.Linear(128, 256).eval()
compiled = torch.compile(layer, dynamic=False)
with torch.no_grad():
    for rows in (64, 96, 64):  # the last one is found again
        torch._dynamo.reset()
        compiled(torch.randn(rows, 128))
""",
    )
    told = json.loads(headway("trace", folder, "--json").stdout)
    costs = {one["kernel"]: one for one in told["autotune"]}
    assert len(costs) == 2, costs
    for rows in (64, 96):
        (cost,) = (one for name, one in costs.items() if f"{rows}x128" in name)
        assert cost["template"] and cost["candidates"] == 2 and cost["times"] >= 1, cost
        assert cost["benchmark_us"] > 0 and cost["compile_us"] > 0 and cost["best"], cost
        assert cost["first"] in {one["id"] for one in told["logs"][0]["compiles"]}
    passes = [one["forward"] for one in told["logs"][0]["compiles"]]
    assert sum(one["autotune_us"] for one in passes) > 0, "torch's own sum"
    page = headway("trace", folder, "--width", 140).stdout
    assert "Autotuning: 2 kernels, " in page, page
    assert all(name in page for name in costs), page


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
