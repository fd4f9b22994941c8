"""headway ckpt copy, to a real object store and back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from store_stage import BUCKET, BUILD, SECRET, Tool

MIB = 1 << 20


def copy(tool: Tool, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(BUILD / "headway"), "ckpt", "copy", *map(str, arguments)],
        env=tool.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert SECRET not in done.stdout + done.stderr
    return done


def make(tool: Tool, folder: Path) -> str:
    source = folder / "a.bin"
    source.write_bytes(os.urandom(20 * MIB))
    return tool.json("make", str(folder / "ck"), "100", str(source))["name"]


def test_up_and_down(tool: Tool, tmp_path: Path) -> None:
    name = make(tool, tmp_path)
    place = f"s3://{BUCKET}/verbs/up"
    up = json.loads(copy(tool, tmp_path / "ck", place, "--json").stdout)
    assert (up["path"], up["copied"], up["bytes"]) == (f"{place}/{name}", True, 20 * MIB)
    assert not json.loads(copy(tool, tmp_path / "ck", place, "--json").stdout)["copied"]
    for index, source in enumerate((place, f"{place}/{name}")):
        down = json.loads(copy(tool, source, tmp_path / f"back{index}", "--json").stdout)
        found = Path(down["path"]) / "a.bin"
        assert found.read_bytes() == (tmp_path / "a.bin").read_bytes()
    assert "copied and verified" in copy(tool, place, tmp_path / "kept", "--anchor").stdout
    assert list((tmp_path / "kept").glob("step-*/ANCHOR"))


def test_what_cannot_be_copied(tool: Tool, tmp_path: Path) -> None:
    make(tool, tmp_path)
    place = f"s3://{BUCKET}/verbs/none"
    assert "no good checkpoint" in copy(tool, place, tmp_path / "x", code=2).stderr
    assert "one of the two ends" in copy(tool, place, place, code=2).stderr
    assert (
        "--anchor is for folders" in copy(tool, tmp_path / "ck", place, "--anchor", code=2).stderr
    )
    tool.extra = {"AWS_SECRET_ACCESS_KEY": "wrong"}
    refused = copy(tool, tmp_path / "ck", place, code=2).stderr
    assert refused.count("\n") == 1 and "403" in refused, refused
