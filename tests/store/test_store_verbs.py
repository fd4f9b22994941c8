"""headway ckpt copy, ls and verify with a real object store."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from store_stage import BUCKET, Server, Tool

MIB = 1 << 20


def ckpt(tool: Tool, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    return tool.headway("ckpt", *arguments, code=code)


def copy(tool: Tool, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    return ckpt(tool, "copy", *arguments, code=code)


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


def test_ls_and_verify(tool: Tool, server: Server, tmp_path: Path) -> None:
    place = f"s3://{BUCKET}/verbs/ls"
    assert json.loads(ckpt(tool, "ls", place, "--json").stdout)["checkpoints"] == []
    assert "no checkpoint is in it" in ckpt(tool, "verify", place, code=2).stderr
    first = make(tool, tmp_path)
    copy(tool, tmp_path / "ck", place)
    second = make(tool, tmp_path)
    copy(tool, tmp_path / "ck", place)
    server.client().put_object(
        Bucket=BUCKET, Key="verbs/ls/step-00000100-000009/a.bin", Body=b"half"
    )
    listed = json.loads(ckpt(tool, "ls", place, "--json").stdout)["checkpoints"]
    assert [(one["name"], one["state"]) for one in listed] == [
        ("step-00000100-000009", "unfinished"),
        (second, "good"),
        (first, "good"),
    ]
    assert listed[1]["path"] == f"{place}/{second}" and listed[1]["bytes"] == 20 * MIB
    assert f"{second}" in ckpt(tool, "ls", place).stdout
    newest = json.loads(ckpt(tool, "ls", place, "--last", "1", "--json").stdout)["checkpoints"]
    assert [one["name"] for one in newest][1:] == [second]
    assert "good · 20.0 MiB in 1 file" in ckpt(tool, "verify", f"{place}/{first}").stdout

    server.client().put_object(
        Bucket=BUCKET, Key=f"verbs/ls/{second}/a.bin", Body=b"x" * (20 * MIB)
    )
    report = json.loads(ckpt(tool, "verify", place, "--json", code=1).stdout)
    assert [one["good"] for one in report["checkpoints"]] == [False, True]
    (damage,) = report["checkpoints"][0]["damages"]
    assert damage["file"] == "a.bin" and "damaged between bytes 0 and" in damage["what"]
    deep = json.loads(ckpt(tool, "ls", place, "--deep", "--json").stdout)["checkpoints"]
    assert [one["state"] for one in deep] == ["unfinished", "damaged", "good"]

    tool.endpoint = "http://127.0.0.1:1"
    assert "after 3 tries" in ckpt(tool, "ls", place, code=2).stderr
