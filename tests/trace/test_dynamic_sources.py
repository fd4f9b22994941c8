"""What the finder names, tried on torch itself: the setting that it prints is set, and the same
script compiles once for each graph."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., subprocess.CompletedProcess[str]]
Compiled = Callable[..., Path]

HEAD = """
import torch
ones = torch.ones
compiled = torch.compile(backend="aot_eager")
"""


def found_in(headway: Run, *folders: Path) -> dict[str, Any]:
    told = json.loads(headway("trace", *folders, "--dynamic-sources", "--json").stdout)
    found: dict[str, Any] = told["dynamic_sources"]
    return found


def compiles_of(headway: Run, folder: Path) -> list[str]:
    told = json.loads(headway("trace", folder, "--json").stdout)
    return [one["id"] for log in told["logs"] for one in log["compiles"]]


def symbols_of(folder: Path) -> set[str]:
    """The sizes and numbers that torch made symbols of."""
    out = set()
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            if '{"create_symbol"' in line:
                out.add(json.loads(line[line.index('{"create') :])["create_symbol"]["source"])
    return out


def test_one_compilation_a_graph(headway: Run, compiled: Compiled) -> None:
    """Sizes, a number, keys that torch would misread, a graph break: 2 graphs, 5 compilations."""
    script = (
        HEAD
        + """
@compiled
def f(x, n, weights, batch):
    y = torch.relu(x @ weights) * n
    torch._dynamo.graph_break()
    return y + batch["a b"] + batch["k,l"] + batch["max-len"] + batch["plain"]

weights = ones(4, 4)
for rows, n in ((8, 3), (9, 4), (10, 5)):
    keys = ("a b", "k,l", "max-len", "plain")
    f(ones(rows, 4), n, weights, {key: ones(rows, 4) for key in keys})
"""
    )
    first = compiled("first", script)
    found = found_in(headway, first)
    assert len(compiles_of(headway, first)) == found["compiles"] == 4
    assert found["saved"] == 2 and found["saved_us"] > 0, found
    named = {(one["source"], one["dim"]) for one in found["sources"]}
    keys = {(f"L['batch']['{key}']", 0) for key in ("a b", "k,l", "max-len", "plain")}
    assert named == keys | {("L['x']", 0), ("L['n']", None), ("L['y']", 0)}
    second = compiled("second", script, TORCH_COMPILE_DYNAMIC_SOURCES=found["setting"])
    assert compiles_of(headway, second) == ["0/0", "1/0"]
    assert not any("weights" in one or "size()[1]" in one for one in symbols_of(second))
    assert found_in(headway, second)["setting"] == ""

    page = headway("trace", first, "--dynamic-sources").stdout
    line = next(line for line in page.splitlines() if line.startswith("export "))
    shell = subprocess.run(
        ["sh", "-c", f'{line}\nprintf %s "$TORCH_COMPILE_DYNAMIC_SOURCES"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shell.stdout == found["setting"]
    assert "2 of 4 compilations would not have been made" in " ".join(page.split())


def test_expressions_leave_what_is_static(headway: Run, compiled: Compiled) -> None:
    script = (
        HEAD
        + """
@compiled
def f(tensors, numbers):
    total = sum(t.sum() for t in tensors)
    return total * numbers[0] * numbers[1]

for rows in (8, 9, 10):
    f([ones(rows if i != 3 else 5, 4) for i in range(6)], [rows, 7])
"""
    )
    first = compiled("first", script)
    found = found_in(headway, first)
    texts = [one["entry"] for one in found["entries"]]
    assert texts == ["L['numbers'][0]", r"L\['tensors'\]\[(?:0|1|2|4|5)\]\Z:0"], texts
    second = compiled("second", script, TORCH_COMPILE_DYNAMIC_SOURCES=found["setting"])
    assert compiles_of(headway, second) == ["0/0"]
    static = {"L['tensors'][3].size()[0]", "L['numbers'][1]"}
    assert "L['tensors'][5].size()[0]" in symbols_of(second)
    assert not symbols_of(second) & static, symbols_of(second)


def test_numbers_of_a_module_and_what_cannot_be_named(headway: Run, compiled: Compiled) -> None:
    script = (
        HEAD
        + """
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.times = 3
    def forward(self, x):
        return x * self.times

module = Scaled()
scaled = torch.compile(module, backend="aot_eager")
for times in (1, 2, 3, 4):
    module.times = times
    scaled(ones(4))

@compiled
def by_float(x, factor):
    return x * factor

for factor in (1.5, 2.5, 3.5):
    by_float(ones(4), factor)

@compiled
def by_size(y):
    if y.shape[0] == 8:
        return y * 2
    if y.shape[0] == 9:
        return y * 3
    return y * 4 if y.shape[0] == 10 else y

for rows in (8, 9, 10):
    by_size(ones(rows))

@compiled
def from_one(x):
    return x * 2

for rows in (1, 8, 9):
    from_one(ones(rows, 3))
"""
    )
    first = compiled("first", script)
    found = found_in(headway, first)
    assert found["setting"] == "L['self'].times", found["sources"]
    unnamed = {(one["source"], one["dim"]): one for one in found["unnamed"]}
    assert "not whole" in unnamed["L['factor']", None]["why"]
    stubborn = unnamed["L['y']", 0]
    assert "for one value" in stubborn["why"] and stubborn["code"] is None, stubborn
    before = compiles_of(headway, first)
    second = compiled("second", script, TORCH_COMPILE_DYNAMIC_SOURCES=found["setting"])
    assert len(before) - len(compiles_of(headway, second)) == found["saved"] > 0
    assert compiles_of(headway, second).count("0/0") == 1
    assert "0/1" not in compiles_of(headway, second)


def test_lines_for_what_cannot_be_named(headway: Run, compiled: Compiled) -> None:
    """What is printed is Python, and does what it says: two compilations of each become one."""
    script = (
        HEAD
        + """
import json, os
lines = json.loads(os.environ.get("HELPING", "{}"))
key = "k" * 3000

def helped(what, **names):
    return eval(lines[what], {"torch": torch, **names}) if lines else [*names.values()][0]

@compiled
def by_float(x, factor):
    return x * factor
for factor in (1.5, 2.5):
    by_float(ones(4), helped("factor", factor=factor))

@compiled
def by_layout(y):
    return y * 2
for y in (ones(4, 3).t().contiguous(), ones(4, 3).t()):
    by_layout(helped("y", y=y))

@compiled
def by_key(batch):
    return batch[key] * 2
for rows in (8, 9):
    tensor = ones(rows)
    helped("size", tensor=tensor)
    by_key({key: tensor})

def by_number(x, numbers):
    return x * numbers[key]
by_number = helped("number", function=by_number) if lines else compiled(by_number)
for n in (3, 4):
    by_number(ones(4), {key: n})
"""
    )
    first = compiled("first", script)
    found = found_in(headway, first)
    assert found["setting"] == "" and len(compiles_of(headway, first)) == 8, found
    assert all(one["changes"] == 1 for one in found["unnamed"]), found["unnamed"]
    (factor,) = (one for one in found["unnamed"] if one["source"] == "L['factor']")
    assert factor["code"].startswith("torch.tensor(factor)  # in place of factor, for by_float (")
    (layout,) = (one for one in found["unnamed"] if one["source"] == "L['y']")
    assert layout["code"].startswith("y.contiguous()  # in place of y, for by_layout (")
    long = {one["dim"]: one for one in found["unnamed"] if "too long" in one["why"]}
    size, number = long[0]["code"], long[None]["code"]
    assert size.startswith("torch._dynamo.maybe_mark_dynamic(tensor, 0)  # tensor: what by_key (")
    assert number.startswith("torch.compile(function, dynamic=True)  # function: by_number (")
    page = headway("trace", first, "--dynamic-sources").stdout
    for line in (factor["code"], layout["code"], size, number):
        assert f"what helps: {line}\n" in page, page
    lines = {
        "factor": factor["code"],
        "y": layout["code"],
        "size": size,
        "number": number.replace("True", 'True, backend="aot_eager"', 1),  # as all others here
    }
    second = compiled("second", script, HELPING=json.dumps(lines))
    assert compiles_of(headway, second) == ["0/0", "1/0", "2/0", "3/0"]


def test_ranks_and_runs_together(
    headway: Run, compiled: Compiled, compiled_by_two: Compiled
) -> None:
    script = """
def train(number):
    @torch.compile(backend="aot_eager")
    def f(x, y):
        return x.sum() * y
    for rows in (8, 9):
        f(torch.ones(rows if number == 0 else 5), torch.ones(rows if number == 1 else 6))
"""
    folder = compiled_by_two("ranks", script)
    assert found_in(headway, folder)["setting"] == "L['x']:0,L['y']:0"
    told = headway("trace", folder, "--rank", 1, "--dynamic-sources", "--json").stdout
    assert json.loads(told)["dynamic_sources"]["setting"] == "L['y']:0"
    other = compiled(
        "other",
        HEAD
        + """
@compiled
def g(x, n):
    return x * n
for n in (3, 4):
    g(ones(2), n)
""",
    )
    assert found_in(headway, folder, other)["setting"] == "L['n'],L['x']:0,L['y']:0"
    again = compiled_by_two("again", script, TORCH_COMPILE_DYNAMIC_SOURCES="L['x']:0,L['y']:0")
    assert compiles_of(headway, again) == ["0/0", "0/0"]


def test_torchs_own_profile(headway: Run, compiled: Compiled) -> None:
    """With a job's id torch remembers by itself: its next process compiles nothing again, and what
    it remembers is in the trace."""
    script = (
        HEAD
        + """
@compiled
def f(x, n):
    return x.sum() * n
for rows in (8, 9, 10):
    f(ones(rows, 4), rows + 1)
"""
    )
    compiled("first", script, TORCH_COMPILE_JOB_ID="family")
    second = compiled("second", script, TORCH_COMPILE_JOB_ID="family")
    assert compiles_of(headway, second) == ["0/0"]
    found = found_in(headway, second)
    assert found["setting"] == "L['n'],L['x']:0" and found["saved"] == 0, found
    third = compiled("third", script, TORCH_COMPILE_DYNAMIC_SOURCES=found["setting"])
    assert compiles_of(headway, third) == ["0/0"]
