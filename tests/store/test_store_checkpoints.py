"""Whole checkpoints to a real store and back."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from store_stage import BUCKET, WAIT_MAX_S, Server, Tool
from wires import Relay

MIB = 1 << 20
PART = 5 * MIB


def make(tool: Tool, folder: Path, step: int, sizes: dict[str, int]) -> str:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    for name, size in sizes.items():
        (source / name).write_bytes(os.urandom(size))
    paths = [str(source / name) for name in sizes]
    return tool.json("make", str(folder / "ck"), str(step), *paths)["name"]


def same(a: Path, b: Path, names: list[str]) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in names)


def test_there_and_back(tool: Tool, server: Server, tmp_path: Path) -> None:
    tool.extra = {"TOOL_PART_BYTES": str(PART)}
    place = f"s3://{BUCKET}/there and back/ck"
    name = make(tool, tmp_path, 100, {"a.safetensors": 12 * MIB + 3, "b.safetensors": 1000})
    report = tool.json("up", place, str(tmp_path / "ck"))
    assert report["bytes"] == 12 * MIB + 1003
    client = server.client()
    keys = {
        each["Key"].removeprefix("there and back/ck/")
        for each in client.list_objects_v2(Bucket=BUCKET, Prefix="there and back/")["Contents"]
    }
    inside = {"MANIFEST.json", "a.safetensors", "b.safetensors"}
    assert keys == {"LATEST", *(f"{name}/{each}" for each in inside)}
    latest = client.get_object(Bucket=BUCKET, Key="there and back/ck/LATEST")["Body"].read()
    assert latest.decode() == name + "\n"
    assert tool.json("checkpoints", place)["names"] == [name]

    down = tool.json("down", place, str(tmp_path / "copy"))
    assert same(tmp_path / "ck" / name, tmp_path / "copy" / down["name"], sorted(inside))
    assert tool.json("up", place, str(tmp_path / "ck"))["was_there"]

    tool.json("discard", place, name)
    assert not client.list_objects_v2(Bucket=BUCKET, Prefix="there and back/").get("Contents")
    assert "no checkpoint" in tool.error("down", place, str(tmp_path / "copy2"))


def test_a_damaged_object_is_passed_over_or_refused(
    tool: Tool, server: Server, tmp_path: Path
) -> None:
    place = f"s3://{BUCKET}/damaged"
    first = make(tool, tmp_path, 1, {"a": 3000})
    tool.json("up", place, str(tmp_path / "ck"))
    second = make(tool, tmp_path, 2, {"a": 3000})
    tool.json("up", place, str(tmp_path / "ck"))
    client = server.client()
    client.put_object(Bucket=BUCKET, Key=f"damaged/{second}/a", Body=b"x" * 3000)
    line = tool.error("down", place, str(tmp_path / "copy"))
    assert f"s3://{BUCKET}/damaged/{second}/a: damaged between bytes 0 and 3000" in line
    assert not list((tmp_path / "copy").glob("step-*"))
    client.put_object(Bucket=BUCKET, Key=f"damaged/{second}/a", Body=b"x" * 2999)
    done = tool.run("down", place, str(tmp_path / "copy"))
    assert done.returncode == 0
    assert "passed over" in done.stderr and "2999 bytes, its manifest says 3000" in done.stderr
    copy = tmp_path / "copy" / json.loads(done.stdout)["name"]
    assert same(tmp_path / "ck" / first, copy, ["a"])


def test_killed_while_it_copies(tool: Tool, server: Server, tmp_path: Path) -> None:
    """An uploader dies again and again; in between nobody sees a checkpoint that is not whole."""
    place = f"s3://{BUCKET}/killed-copy"
    tool.extra = {"TOOL_PART_BYTES": str(PART), "TOOL_CONNECTIONS": "2"}
    old = make(tool, tmp_path, 1, {"a": 1000})
    tool.json("up", place, str(tmp_path / "ck"))
    new = make(tool, tmp_path, 2, {"a": 17 * MIB, "b": 11 * MIB, "c": 100})
    direct = tool.endpoint
    sent = 0
    for _ in range(3):
        relay = Relay(server.port, bytes_per_s=10 * MIB)
        tool.endpoint = relay.url
        process = tool.start("up", place, str(tmp_path / "ck"))
        deadline = time.monotonic() + WAIT_MAX_S
        while relay.up_bytes < 11 * MIB and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        relay.close()
        sent += relay.up_bytes
        tool.endpoint = direct
        names = tool.json("checkpoints", place)["names"]
        assert names[-1] == old
        if process.returncode == 0:  # it was quicker than we
            break
        assert names == [old]
        latest = server.client().get_object(Bucket=BUCKET, Key="killed-copy/LATEST")["Body"]
        assert latest.read().decode() == old + "\n"
    report = tool.json("up", place, str(tmp_path / "ck"))
    assert tool.json("checkpoints", place)["names"] == [new, old]
    # Whatever was confirmed was kept: only what was under way at a kill went twice.
    assert sent + report["bytes_sent"] < 28 * MIB + 3 * 2 * PART + MIB
    down = tool.json("down", place, str(tmp_path / "copy"))
    copy = tmp_path / "copy" / down["name"]
    assert same(tmp_path / "ck" / new, copy, ["a", "b", "c", "MANIFEST.json"])
