"""A second S3 server, moto, that answers oddly now and then: what comes of it is a whole checkpoint
or one clear line."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_stage import KEY_ID, SECRET, Tool

moto_stage = pytest.importorskip("moto_stage", reason="NO MOTO HERE, its answers are NOT tested")

MIB = 1 << 20
PLACE = "s3://bucket/runs/ck"


def error(status: str, code: str, message: str = "m") -> moto_stage.Answer:
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
    return status, [("Content-Type", "application/xml")], body


@pytest.fixture
def moto(plain_tool: Tool) -> Iterator[moto_stage.MotoServer]:
    import boto3

    server = moto_stage.MotoServer()
    plain_tool.endpoint = server.url
    plain_tool.extra |= {"TOOL_PART_BYTES": str(5 * MIB), "TOOL_RANGE_BYTES": str(MIB)}
    client = boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )
    for bucket in client.list_buckets()["Buckets"]:  # moto keeps them for the process
        for each in client.list_objects_v2(Bucket=bucket["Name"]).get("Contents", []):
            client.delete_object(Bucket=bucket["Name"], Key=each["Key"])
    client.create_bucket(Bucket="bucket")
    yield server
    server.close()


def make(tool: Tool, folder: Path) -> str:
    sources = []
    for name, size in {"a.bin": 12 * MIB + 5, "b.bin": 4000}.items():
        (folder / name).write_bytes(os.urandom(size))
        sources.append(str(folder / name))
    return tool.json("make", str(folder / "ck"), "100", *sources)["name"]


def same(folder: Path, copy: Path) -> bool:
    return all(
        (copy / name).read_bytes() == (folder / name).read_bytes() for name in ("a.bin", "b.bin")
    )


class Every:
    """Each n-th request gets this instead; a session's threads share the count."""

    def __init__(self, n: int, what: object) -> None:
        self.n, self.what, self.count = n, what, 0
        self.lock = threading.Lock()

    def __call__(self, method: str, path: str) -> object:
        with self.lock:
            self.count += 1
            return self.what if self.count % self.n == 0 else None


def test_another_server(moto: moto_stage.MotoServer, plain_tool: Tool, tmp_path: Path) -> None:
    name = make(plain_tool, tmp_path)
    assert plain_tool.json("up", PLACE, str(tmp_path / "ck"))["bytes_sent"] > 12 * MIB
    assert plain_tool.json("up", PLACE, str(tmp_path / "ck"))["was_there"]
    assert plain_tool.json("checkpoints", PLACE)["names"] == [name]
    down = plain_tool.json("down", PLACE, str(tmp_path / "copy"))
    assert same(tmp_path, tmp_path / "copy" / down["name"])
    plain_tool.json("discard", PLACE, name)
    assert plain_tool.json("checkpoints", PLACE)["names"] == []


@pytest.mark.parametrize(
    "what",
    [
        error("503 Slow Down", "SlowDown"),
        error("500 Internal Server Error", "InternalError"),
        ("502 Bad Gateway", [("Content-Type", "text/html")], b"<html>proxy</html>"),
        error("400 Bad Request", "RequestTimeout"),
        lambda body: body[: len(body) // 2],  # cut on its way
    ],
    ids=["slow-down", "internal", "proxy", "timeout", "cut"],
)
def test_every_fifth_answer(
    moto: moto_stage.MotoServer, plain_tool: Tool, tmp_path: Path, what: object
) -> None:
    make(plain_tool, tmp_path)
    plain_tool.extra["TOOL_TRIES"] = "6"
    moto.spoil = Every(5, what)
    plain_tool.json("up", PLACE, str(tmp_path / "ck"))
    down = plain_tool.json("down", PLACE, str(tmp_path / "copy"))
    assert same(tmp_path, tmp_path / "copy" / down["name"])


def test_bytes_that_were_changed(
    moto: moto_stage.MotoServer, plain_tool: Tool, tmp_path: Path
) -> None:
    """Once: read again. Always: an error, and nothing that looks like a checkpoint."""
    make(plain_tool, tmp_path)
    plain_tool.json("up", PLACE, str(tmp_path / "ck"))
    left = [1]

    def flip(body: bytes) -> bytes:
        return body[:100] + bytes([body[100] ^ 1]) + body[101:] if len(body) > 100_000 else body

    def once(method: str, path: str) -> object:
        hit = method == "GET" and "a.bin" in path and left[0] > 0
        left[0] -= hit
        return flip if hit else None

    moto.spoil = once
    down = plain_tool.json("down", PLACE, str(tmp_path / "copy"))
    assert left == [0] and same(tmp_path, tmp_path / "copy" / down["name"])
    left[0] = 1_000_000
    assert "a.bin: damaged between bytes" in plain_tool.error("down", PLACE, str(tmp_path / "bad"))
    assert not list((tmp_path / "bad").glob("step-*"))


def test_a_token_that_expires_on_the_way(
    moto: moto_stage.MotoServer, plain_tool: Tool, tmp_path: Path
) -> None:
    name = make(plain_tool, tmp_path)
    token = "FwoGZXIvYXdzEBYaDtoken" + "x" * 60
    plain_tool.extra["AWS_SESSION_TOKEN"] = token
    seen = [0]

    def expire(method: str, path: str) -> object:
        seen[0] += "partNumber=" in path
        if seen[0] < 2:
            return None
        return error("400 Bad Request", "ExpiredToken", f"The token {token} has expired.")

    moto.spoil = expire
    line = plain_tool.error("up", PLACE, str(tmp_path / "ck"))
    assert "400 ExpiredToken" in line and token not in line
    moto.spoil = lambda method, path: None
    assert plain_tool.json("checkpoints", PLACE)["names"] == []
    report = plain_tool.json("up", PLACE, str(tmp_path / "ck"))
    assert report["bytes_sent"] < 12 * MIB, "a part was there"
    assert plain_tool.json("checkpoints", PLACE)["names"] == [name]


def test_a_list_without_an_end(
    moto: moto_stage.MotoServer, plain_tool: Tool, tmp_path: Path
) -> None:
    """More than any honest page has, and pages that never come to an end."""
    huge = b"<ListBucketResult>" + b"<Contents><Key>k</Key><Size>1</Size></Contents>" * 400_000
    moto.spoil = lambda method, path: (
        "200 OK", [("Content-Type", "application/xml")], huge + b"</ListBucketResult>",
    )  # fmt: skip
    line = plain_tool.error("list", PLACE)
    assert "longer than what was asked for" in line
    again = (
        b"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t"
        b"</NextContinuationToken><Contents><Key>runs/ck/k</Key><Size>1</Size></Contents>"
        b"</ListBucketResult>"
    )
    moto.spoil = lambda method, path: ("200 OK", [("Content-Type", "application/xml")], again)
    before = len(moto.requests)
    line = plain_tool.error("list", PLACE)
    assert "the list goes on without an end" in line
    assert len(moto.requests) - before < 10


def test_a_clock_that_is_wrong(
    moto: moto_stage.MotoServer, plain_tool: Tool, tmp_path: Path
) -> None:
    make(plain_tool, tmp_path)
    moto.spoil = lambda method, path: error("403 Forbidden", "RequestTimeTooSkewed")
    line = plain_tool.error("up", PLACE, str(tmp_path / "ck"))
    assert "403 RequestTimeTooSkewed" in line and "clock" in line
