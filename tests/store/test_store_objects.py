"""Objects against a real server, with boto3 as the witness that others read what we write."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
import time
from pathlib import Path

import pytest
from store_stage import BUCKET, SECRET, WAIT_MAX_S, Server, Tool
from wires import Relay

MIB = 1 << 20
PART = 5 * MIB


def some_file(folder: Path, size: int, name: str = "data") -> Path:
    path = folder / name
    path.write_bytes(os.urandom(size))
    return path


@pytest.mark.parametrize(
    "key", ["plain", "with space/ü+*~%41.bin", "a/../b//c", "q?x=1&y#z;=@:$,'()!"]
)
def test_others_read_what_we_write(tool: Tool, server: Server, tmp_path: Path, key: str) -> None:
    path = some_file(tmp_path, 3000)
    if "//" in key or ".." in key:  # this server tidies paths up; only that it is no surprise
        tool.run("put", f"s3://{BUCKET}/{key}", str(path))
        return
    tool.json("put", f"s3://{BUCKET}/{key}", str(path))
    body = server.client().get_object(Bucket=BUCKET, Key=key)["Body"].read()
    assert body == path.read_bytes()
    assert [key, 3000] in tool.json("list", f"s3://{BUCKET}")["keys"]
    tool.json("get", f"s3://{BUCKET}/{key}", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == path.read_bytes()


def test_parts_and_ranges(tool: Tool, server: Server, tmp_path: Path) -> None:
    tool.extra = {"TOOL_PART_BYTES": str(PART), "TOOL_RANGE_BYTES": "777777"}
    path = some_file(tmp_path, 23 * MIB + 17)
    report = tool.json("upload", f"s3://{BUCKET}/parts/big", str(path))
    assert report == {
        "parts": 5,
        "parts_sent": 5,
        "bytes_sent": 23 * MIB + 17,
        "was_there": False,
    }
    witness = server.client().get_object(Bucket=BUCKET, Key="parts/big")["Body"].read()
    assert hashlib.sha256(witness).digest() == hashlib.sha256(path.read_bytes()).digest()
    tool.json("get", f"s3://{BUCKET}/parts/big", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == path.read_bytes()
    assert tool.json("upload", f"s3://{BUCKET}/parts/big", str(path))["was_there"]


def test_we_read_what_others_write(tool: Tool, server: Server, tmp_path: Path) -> None:
    path = some_file(tmp_path, 9 * MIB)
    server.client().upload_file(str(path), BUCKET, "others/file")
    tool.json("get", f"s3://{BUCKET}/others/file", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == path.read_bytes()


def test_long_lists_and_removal(tool: Tool, server: Server) -> None:
    client = server.client()
    for number in range(1050):  # more than a page
        client.put_object(Bucket=BUCKET, Key=f"many/{number:05}", Body=b"x")
    client.put_object(Bucket=BUCKET, Key="many/sub/1", Body=b"x")
    listing = tool.json("list", f"s3://{BUCKET}/many")
    assert len(listing["keys"]) == 1051
    # A prefix is written without its slash; the delimiter then cuts right behind it.
    assert tool.json("list", f"s3://{BUCKET}/many", "/")["prefixes"] == ["many/"]
    assert tool.json("remove", f"s3://{BUCKET}/many")["removed"] == 1051
    assert client.list_objects_v2(Bucket=BUCKET, Prefix="many/").get("KeyCount", 0) == 0


def test_a_wrong_secret(tool: Tool, tmp_path: Path) -> None:
    tool.extra = {"AWS_SECRET_ACCESS_KEY": "another+secret/0123456789abcdefghijklmnop"}
    line = tool.error("put", f"s3://{BUCKET}/never", str(some_file(tmp_path, 10)))
    assert line == (
        f"store_tool: put s3://{BUCKET}/never: 403 SignatureDoesNotMatch: "
        "the secret does not belong to the key: set AWS_SECRET_ACCESS_KEY again"
    )


def test_a_wrong_key_bucket_and_object(tool: Tool, tmp_path: Path) -> None:
    assert "404 NoSuchBucket: check the bucket's name" in tool.error("list", "s3://no-such-bucket")
    assert "404: there is no such object" in tool.error("head", f"s3://{BUCKET}/nobody")
    tool.extra = {"AWS_ACCESS_KEY_ID": "NOBODY"}
    line = tool.error("put", f"s3://{BUCKET}/never", str(some_file(tmp_path, 10)))
    assert "403 InvalidAccessKeyId: the store does not know this key" in line


def test_a_profile(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "creds").write_text(
        f"[team]\naws_access_key_id = AKIDHEADWAYTEST\naws_secret_access_key = {SECRET}\n"
    )
    tool.extra = {
        "AWS_ACCESS_KEY_ID": "",
        "AWS_SECRET_ACCESS_KEY": "",
        "AWS_PROFILE": "team",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "creds"),
    }
    process = tool.start("put", f"s3://{BUCKET}/profile", str(some_file(tmp_path, 10)))
    out, err = process.communicate(timeout=WAIT_MAX_S)
    assert process.returncode == 0, err
    assert SECRET not in out + err


def test_certificates_are_checked(tool: Tool, server: Server, tmp_path: Path) -> None:
    tool.endpoint = f"https://127.0.0.1:{server.tls_port}"
    path = some_file(tmp_path, 100)
    line = tool.error("put", f"s3://{BUCKET}/tls", str(path))
    assert "certificate" in line and "AWS_CA_BUNDLE" in line
    tool.extra = {"AWS_CA_BUNDLE": str(server.ca_file)}
    tool.json("put", f"s3://{BUCKET}/tls", str(path))
    tool.json("get", f"s3://{BUCKET}/tls", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == path.read_bytes()


def test_killed_in_the_middle_and_resumed(tool: Tool, server: Server, tmp_path: Path) -> None:
    path = some_file(tmp_path, 40 * MIB)
    relay = Relay(server.port, bytes_per_s=8 * MIB)
    tool.endpoint = relay.url
    tool.extra = {"TOOL_PART_BYTES": str(PART), "TOOL_CONNECTIONS": "2"}
    process = tool.start("upload", f"s3://{BUCKET}/killed/big", str(path))
    deadline = time.monotonic() + WAIT_MAX_S
    while relay.up_bytes < 25 * MIB:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    relay.close()

    client = server.client()
    keys = client.list_objects_v2(Bucket=BUCKET, Prefix="killed/").get("Contents", [])
    assert not keys, "half an object must not be seen"
    (left,) = client.list_multipart_uploads(Bucket=BUCKET, Prefix="killed/")["Uploads"]
    parts = client.list_parts(Bucket=BUCKET, Key="killed/big", UploadId=left["UploadId"])["Parts"]
    assert len(parts) >= 2

    counter = Relay(server.port)
    tool.endpoint = counter.url
    report = tool.json("upload", f"s3://{BUCKET}/killed/big", str(path))
    counter.close()
    assert report["parts"] == 8
    assert report["parts_sent"] == 8 - len(parts)
    # And on the wire: what was sent again is the missing parts and a little talk.
    assert counter.up_bytes - report["bytes_sent"] < 100_000
    assert client.get_object(Bucket=BUCKET, Key="killed/big")["Body"].read() == path.read_bytes()
    assert not client.list_multipart_uploads(Bucket=BUCKET, Prefix="killed/").get("Uploads")


@pytest.mark.parametrize("tls", [False, True])
def test_a_line_that_is_cut(tool: Tool, server: Server, tmp_path: Path, tls: bool) -> None:
    path = some_file(tmp_path, 30 * MIB)
    relay = Relay(server.tls_port if tls else server.port)
    relay.cut_after, relay.cuts_left = 3 * MIB, 4
    tool.endpoint = relay.url.replace("http:", "https:") if tls else relay.url
    tool.extra = {
        "TOOL_PART_BYTES": str(PART),
        "TOOL_CONNECTIONS": "2",
        "AWS_CA_BUNDLE": str(server.ca_file),
    }
    key = f"cut/big-{tls}"
    report = tool.json("upload", f"s3://{BUCKET}/{key}", str(path))
    assert report["parts_sent"] == 6
    assert relay.cuts_left == 0, "it was never cut"
    relay.close()
    body = server.client().get_object(Bucket=BUCKET, Key=key)["Body"].read()
    assert body == path.read_bytes()


def test_uploads_that_were_given_up(tool: Tool, server: Server) -> None:
    client = server.client()
    for name in ("a", "b"):
        upload = client.create_multipart_upload(Bucket=BUCKET, Key=f"left/{name}")
        client.upload_part(
            Bucket=BUCKET,
            Key=f"left/{name}",
            UploadId=upload["UploadId"],
            PartNumber=1,
            Body=b"x" * PART,
            ContentMD5=base64.b64encode(hashlib.md5(b"x" * PART).digest()).decode(),
        )
    assert tool.json("abort", f"s3://{BUCKET}/left")["aborted"] == 2
    assert not client.list_multipart_uploads(Bucket=BUCKET, Prefix="left/").get("Uploads")


def test_somebody_elses_half_upload_of_the_same_key(
    tool: Tool, server: Server, tmp_path: Path
) -> None:
    client = server.client()
    upload = client.create_multipart_upload(Bucket=BUCKET, Key="taken/big")
    client.upload_part(
        Bucket=BUCKET,
        Key="taken/big",
        UploadId=upload["UploadId"],
        PartNumber=1,
        Body=b"x" * PART,
    )
    path = some_file(tmp_path, 2 * PART)
    tool.extra = {"TOOL_PART_BYTES": str(PART)}
    tool.json("upload", f"s3://{BUCKET}/taken/big", str(path))
    assert client.get_object(Bucket=BUCKET, Key="taken/big")["Body"].read() == path.read_bytes()
