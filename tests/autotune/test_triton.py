"""Real Triton, compiling for sm_80 without a GPU (bench/autotune/kernels.py): what its tunings
leave is read, pinned and applied. Times of launches are modelled there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TUNE = ROOT / "bench/autotune/tune.py"
Run = Callable[..., subprocess.CompletedProcess[str]]


def tune(python: str, cache: Path, shapes: list[Any], *arguments: object) -> list[dict[str, Any]]:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache), "TRITON_CACHE_AUTOTUNING": "1"}
    environment.pop("PYTHONPATH", None)  # neither Headway nor torch is needed
    done = subprocess.run(
        [python, str(TUNE), json.dumps(shapes), *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "tuning in full" not in done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_pins_from_triton_caches(headway: Run, triton_python: str, tmp_path: Path) -> None:
    cache, pins = tmp_path / "cache", tmp_path / "pins.py"
    seen = [["softmax", [4096, 1024]], ["softmax", [4096, 1536]], ["softmax", [5120, 2032]]]
    full = tune(triton_python, cache, seen)
    assert [line["tried"] for line in full] == [12, 12, 12]
    found = json.loads(headway("autotune", cache, "--pins", pins, "--json").stdout)
    assert found["read"]["triton_files"] == 3 and found["read"]["bad"] == 0
    (kernel,) = found["kernels"]
    assert kernel["kernel"] == "softmax" and kernel["software"].startswith("triton ")
    (shape,) = kernel["classes"]
    assert shape["hardware"] == "cuda:80" and shape["runs"] == 3
    assert 0 < shape["kept"] < shape["measured"] == 12

    fresh = tmp_path / "fresh"
    same_class, unseen = ["softmax", [4864, 1920]], ["softmax", [4096, 1000]]
    pinned, other = tune(triton_python, fresh, [same_class, unseen], "--pins", pins)
    assert pinned["tried"] == shape["kept"]
    assert other["tried"] == 12  # 16 does not divide 1000: a class that nobody tuned
    compiled = list(fresh.glob("*/softmax.cubin"))
    # Code for numbers that 16 divides, and code for others: pinned and full.
    assert len(compiled) == shape["kept"] + 12
    (whole,) = tune(triton_python, tmp_path / "whole", [same_class])
    assert whole["tried"] == 12 and whole["winner"] == pinned["winner"]


def test_what_triton_compiled_goes_along(headway: Run, triton_python: str, tmp_path: Path) -> None:
    """By an archive to a folder of another name: of all twelve kernels none is compiled again."""
    one, two, archive = tmp_path / "one", tmp_path / "two", tmp_path / "warm.hwc"
    shape = ["softmax", [4096, 1024]]
    tune(triton_python, one / "triton/0", [shape])
    home = {"HOME": str(tmp_path)}
    headway("cache", "keygen", **home)
    bound = ["--torch", "2.13.0", "--python-tag", "cpython-311", "--environment", "/venv"]
    headway("cache", "pack", one, "-o", archive, *bound, **home)
    headway("cache", "unpack", archive, "--to", two, **home)
    shutil.rmtree(one)
    for known in two.rglob("*.autotune.json"):
        known.unlink()  # or only the winner would be asked for
    kernels = {path: path.stat().st_ino for path in two.rglob("*.cubin")}
    assert len(kernels) == 12
    (again,) = tune(triton_python, two / "triton/0", [shape])
    assert again["tried"] == 12
    assert {path: path.stat().st_ino for path in two.rglob("*.cubin")} == kernels


def test_under_headway_run(headway: Run, triton_python: str, tmp_path: Path) -> None:
    """Torch and Triton in one process: the hook records and applies."""
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, torch\n"
        f"sys.path.insert(0, {str(TUNE.parent)!r})\n"
        "import kernels\n"
        "kernels.use_stand_in()\n"
        "for columns in (1024, 1536, 2032):\n"
        "    kernels.run('softmax', [4096, columns])\n"
    )
    run = ("run", "--cold", "--python", triton_python)
    cache = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    headway(*run, "--job", "full", script, **cache)
    (lines,) = (tmp_path / "jobs/full").glob("*/autotune-0.jsonl")
    told = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(told) == 3 and all(len(line["configs"]) == 12 for line in told)
    assert told[0]["key"] == [4096, 1024, "fp16", "fp16"]
    assert told[0]["key_names"] == ["ROWS", "COLUMNS"] and told[0]["tuning_s"] > 0
    pins = tmp_path / "pins.py"
    found = json.loads(headway("autotune", "--pins", pins, "--json").stdout)
    kept = found["kernels"][0]["classes"][0]["kept"]
    assert 0 < kept < 12 and found["kernels"][0]["saved_ns"] > 0
    done = headway(*run, "--job", "pinned", "--autotune-pins", pins, script, **cache)
    assert "tuning in full" not in done.stderr
    again = list((tmp_path / "jobs/pinned").glob("*/autotune-0.jsonl"))
    if kept == 1:  # Triton does not time a single configuration
        assert not again
    else:
        told = [json.loads(line) for line in again[0].read_text().splitlines()]
        assert [len(line["configs"]) for line in told] == [kept] * 3
        assert all(line["pruned"] for line in told)


PRUNED_BY_HAND = """
import sys
sys.path[:0] = [{pins!r}, {bench!r}]
import kernels, pins, triton
kernels.use_stand_in()
by_hand = triton.autotune(configs=kernels.SOFTMAX_CONFIGS, key=["ROWS", "COLUMNS"],
    prune_configs_by={{"early_config_prune": pins.prune("softmax", keys=["ROWS", "COLUMNS"])}})
kernels.softmax = by_hand(kernels.softmax.fn)
tuned = kernels.run("softmax", [4096, 1024])
print(len(tuned.prune_configs({{}}) if tuned.nargs else tuned.configs_timings)
      if hasattr(tuned, "configs_timings") else 1)
"""


def test_prune_hook_in_the_users_code(headway: Run, triton_python: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    tune(triton_python, cache, [["softmax", [4096, 1024]]])
    found = json.loads(headway("autotune", cache, "--pins", tmp_path / "pins.py", "--json").stdout)
    code = PRUNED_BY_HAND.format(pins=str(tmp_path), bench=str(TUNE.parent))
    done = subprocess.run(
        [triton_python, "-c", code],
        env={**os.environ, "TRITON_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) == found["kernels"][0]["classes"][0]["kept"] < 12
