"""A server that answers wrongly, in the ways that servers do: what comes of it is one clear line,
never a half object that passes for a whole one."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from store_stage import Tool
from wires import Answer, OddServer

PART = 5 << 20
XML = {"Content-Type": "application/xml"}
Serve = Callable[[Callable[[str, str, bytes], Answer]], OddServer]


def error(status: int, code: str, message: str = "m") -> Answer:
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return status, XML, body.encode()


@pytest.fixture
def serve(plain_tool: Tool) -> Iterator[Serve]:
    made: list[OddServer] = []

    def start(answer: Callable[[str, str, bytes], Answer]) -> OddServer:
        made.append(OddServer(answer))
        plain_tool.endpoint = made[-1].url
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small"
    path.write_bytes(b"some data")
    return str(path)


def etag(body: bytes) -> dict[str, str]:
    return {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}


def test_busy_then_not(plain_tool: Tool, serve: Serve, small: str) -> None:
    answers = iter([error(503, "SlowDown"), (500, {}, b"<html>oops")])

    def answer(_method: str, _path: str, body: bytes) -> Answer:
        return next(answers, (200, etag(body), b""))

    server = serve(answer)
    plain_tool.json("put", "s3://bucket/k", small)
    assert len(server.requests) == 3


def test_always_busy(plain_tool: Tool, serve: Serve, small: str) -> None:
    server = serve(lambda *_: error(503, "SlowDown"))
    line = plain_tool.error("put", "s3://bucket/k", small)
    assert "put s3://bucket/k: 503 SlowDown after 3 tries: the store is busy" in line
    assert len(server.requests) == 3


def test_a_redirect_is_not_followed(plain_tool: Tool, serve: Serve, small: str) -> None:
    other = serve(lambda *_: (200, {}, b""))
    server = serve(
        lambda *_: (
            301,
            {"Location": other.url, "x-amz-bucket-region": "eu-west-3"},
            b"<Error><Code>PermanentRedirect</Code></Error>",
        )
    )
    line = plain_tool.error("put", "s3://bucket/k", small)
    assert "301 PermanentRedirect: the bucket is in region eu-west-3: set AWS_REGION=" in line
    assert len(server.requests) == 1
    assert other.requests == []


def test_nothing_is_confirmed(plain_tool: Tool, serve: Serve, small: str) -> None:
    serve(lambda *_: (200, {}, b""))
    assert "confirmed neither" in plain_tool.error("put", "s3://bucket/k", small)
    serve(lambda *_: (200, etag(b"other data"), b""))
    assert "another MD5" in plain_tool.error("put", "s3://bucket/k", small)
    serve(lambda *_: (200, {"x-amz-checksum-crc32c": "AAAAAA=="}, b""))
    assert "another CRC32C" in plain_tool.error("put", "s3://bucket/k", small)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"<html><body>Welcome</body></html>",
        b"<ListBucketResult><Contents><Key>a</Key>",
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><ListBucketResult>&b;'
        b"</ListBucketResult>",
        b"<a>" * 100_000,
        b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
    ],
)
def test_a_list_that_is_none(plain_tool: Tool, serve: Serve, body: bytes) -> None:
    serve(lambda *_: (200, XML, body))
    assert "list s3://bucket/p: the store's answer makes no sense" in plain_tool.error(
        "list", "s3://bucket/p"
    )


def test_a_body_that_is_cut(plain_tool: Tool, serve: Serve, tmp_path: Path) -> None:
    data = os.urandom(300_000)

    def answer(method: str, _path: str, _body: bytes) -> Answer:
        if method == "HEAD":
            return 200, {"Content-Length": str(len(data)), "ETag": '"e"'}, b""
        return (
            206,
            {"Content-Length": str(len(data)), "Content-Range": "bytes 0-299999/300000"},
            b"",
        )

    server = serve(answer)
    line = plain_tool.error("get", "s3://bucket/k", str(tmp_path / "out"))
    assert "get s3://bucket/k: " in line and "after 3 tries" in line
    assert len(server.requests) == 4
    assert not (tmp_path / "out").exists()


def test_a_body_that_is_cut_goes_on(plain_tool: Tool, serve: Serve, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    sent = [0]

    def answer(method: str, _path: str, _body: bytes) -> Answer:
        if method == "HEAD":
            return 200, {"Content-Length": str(len(data)), "ETag": '"e"'}, b""
        begin = sent[0]
        sent[0] = min(len(data), begin + 120_000)
        head = {
            "Content-Length": str(len(data) - begin),
            "Content-Range": f"bytes {begin}-299999/300000",
        }
        return 206, head, data[begin : sent[0]]

    server = serve(answer)
    plain_tool.json("get", "s3://bucket/k", str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == data
    assert len(server.requests) == 4


def test_a_store_without_ranges(plain_tool: Tool, serve: Serve, tmp_path: Path) -> None:
    data = b"x" * 3000
    plain_tool.extra["TOOL_RANGE_BYTES"] = "1000"

    def answer(method: str, _path: str, _body: bytes) -> Answer:
        head = {"ETag": '"e"'}
        return 200, head | ({"Content-Length": "3000"} if method == "HEAD" else {}), data

    serve(answer)
    line = plain_tool.error("get", "s3://bucket/k", str(tmp_path / "out"))
    assert "longer than what was asked for" in line or "does this store serve ranges?" in line
    assert not (tmp_path / "out").exists()


class Multipart:
    """Enough of a store for an upload in parts; `complete` is the odd part."""

    def __init__(self, complete: Callable[[], Answer]) -> None:
        self.complete = complete
        self.object: bytes | None = None
        self.parts: dict[str, bytes] = {}

    def __call__(self, method: str, path: str, body: bytes) -> Answer:
        if method == "HEAD":
            if self.object is None:
                return 404, {}, b""
            tags = b"".join(hashlib.md5(self.parts[n]).digest() for n in sorted(self.parts))
            tag = f'"{hashlib.md5(tags).hexdigest()}-{len(self.parts)}"'
            return 200, {"Content-Length": str(len(self.object)), "ETag": tag}, b""
        if method == "GET":
            return 200, XML, b"<ListMultipartUploadsResult></ListMultipartUploadsResult>"
        if method == "PUT":
            self.parts[path.split("partNumber=")[1].split("&")[0]] = body
            return 200, etag(body), b""
        if "uploads" in path:
            body = b"<InitiateMultipartUploadResult><UploadId>u</UploadId>"
            return 200, XML, body + b"</InitiateMultipartUploadResult>"
        return self.complete()

    def assemble(self) -> None:
        self.object = b"".join(self.parts[n] for n in sorted(self.parts))


@pytest.fixture
def large(plain_tool: Tool, tmp_path: Path) -> str:
    plain_tool.extra["TOOL_PART_BYTES"] = str(PART)
    path = tmp_path / "large"
    path.write_bytes(os.urandom(PART + 1000))
    return str(path)


def test_two_hundred_with_an_error_in_it(plain_tool: Tool, serve: Serve, large: str) -> None:
    store = Multipart(lambda: error(200, "InternalError"))
    server = serve(store)
    line = plain_tool.error("upload", "s3://bucket/k", large)
    assert "complete s3://bucket/k: 200 InternalError" in line
    assert sum("POST" in each and "uploadId" in each for each in server.requests) == 3


def test_completed_but_the_answer_is_garbage(plain_tool: Tool, serve: Serve, large: str) -> None:
    def complete() -> Answer:
        store.assemble()
        return 200, XML, b"<CompleteMultipartUploadRes"

    store = Multipart(complete)
    serve(store)
    plain_tool.json("upload", "s3://bucket/k", large)  # the object itself tells
    assert store.object == Path(large).read_bytes()


def test_completed_with_another_size(plain_tool: Tool, serve: Serve, large: str) -> None:
    def complete() -> Answer:
        store.object = b"short"
        body = b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"
        return 200, XML, body

    store = Multipart(complete)
    serve(store)
    assert "the object has 5 bytes" in plain_tool.error("upload", "s3://bucket/k", large)


def test_an_echo_of_what_is_secret(plain_tool: Tool, serve: Serve, small: str) -> None:
    token = "TOKEN" + "abcdefgh" * 30
    plain_tool.extra["AWS_SESSION_TOKEN"] = token
    secret = plain_tool.environment()["AWS_SECRET_ACCESS_KEY"]
    serve(lambda *_: error(400, "Odd", f"{secret} {token} {'a1b2' * 16} is\nwrong\x07"))
    line = plain_tool.error("put", "s3://bucket/k", small)
    assert token not in line and "a1b2a1b2" not in line and secret not in line
    assert "400 Odd" in line and "is wrong" in line


def test_no_credentials(plain_tool: Tool, small: str) -> None:
    plain_tool.extra |= {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    done = plain_tool.start("put", "s3://bucket/k", small)
    _, err = done.communicate()
    assert "no credentials for the object store: set AWS_ACCESS_KEY_ID" in err


def test_nobody_listens(plain_tool: Tool, small: str) -> None:
    line = plain_tool.error("put", "s3://bucket/k", small)
    assert "after 3 tries (http://127.0.0.1:1): check the endpoint" in line


def test_a_server_that_says_nothing(plain_tool: Tool, small: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        plain_tool.endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        plain_tool.extra |= {"TOOL_STALL_S": "1", "TOOL_TRIES": "2"}
        line = plain_tool.error("put", "s3://bucket/k", small)
    assert "Less than 1 bytes/sec" in line and "after 2 tries" in line
