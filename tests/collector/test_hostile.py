"""Clients that mean harm, or do not know better: what they get, and that others do not notice."""

from __future__ import annotations

import json
import os
import random
import socket
import time
from pathlib import Path

import pytest
from collecting import Collector
from loading import Load, Shape, assert_all_told, memory_mib

FULL = bool(os.environ.get("HEADWAY_TEST_FULL"))
SECRET = "secretjob"


def small_job(prefix: str) -> Shape:
    return {"jobs": 1, "ranks": 8, "steps": 40, "step-ms": 100, "prefix": prefix} | {
        "begin-ns": time.time_ns() - 10**10
    }


def connect(collector: Collector) -> socket.socket:
    return socket.create_connection(("127.0.0.1", collector.port), timeout=60)


def talk(collector: Collector, data: bytes) -> bytes:
    """All that is said to these bytes, until the collector closes. The client's side is closed
    first: half a request is then one that will never be whole."""
    with connect(collector) as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has heard enough
        said = b""
        try:
            while part := client.recv(65536):
                said += part
        except ConnectionResetError:
            pass
        return said


def status_of(said: bytes) -> int:
    return int(said.split(b" ")[1]) if said.startswith(b"HTTP/1.1 ") else 0


def request(target: str = "/healthz", method: str = "GET", *headers: str) -> bytes:
    host = [] if any(each.startswith("Host:") for each in headers) else ["Host: localhost"]
    lines = [f"{method} {target} HTTP/1.1", *host, *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


INGEST = "/api/v1/ingest/job/1"
MALFORMED = {
    "two kinds of length": request(
        INGEST, "POST", "Content-Length: 5", "Transfer-Encoding: chunked"
    )
    + b"0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n",
    "the same, the other way round": request(
        INGEST, "POST", "Transfer-Encoding: chunked", "Content-Length: 5"
    )
    + b"0\r\n\r\n",
    "two lengths": request(INGEST, "POST", "Content-Length: 5", "Content-Length: 6") + b"x" * 6,
    "a negative length": request(INGEST, "POST", "Content-Length: -1"),
    "a length that is no number": request(INGEST, "POST", "Content-Length: 0x10"),
    "a length beyond all numbers": request(INGEST, "POST", "Content-Length: " + "9" * 40),
    "a chunk of no size": request(INGEST, "POST", "Transfer-Encoding: chunked") + b"zz\r\n\r\n",
    "a longer body than is taken": request(INGEST, "POST", "Content-Length: 99999999999"),
    "a body where none is taken": request("/healthz", "GET", "Content-Length: 10") + b"x" * 10,
    "a flood of headers": request("/healthz", "GET", *(f"X-{i}: {i}" for i in range(5000))),
    "a header that has no end": b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 100_000,
    "a target that has no end": b"GET /" + b"x" * 100_000,
    "somebody else's address": request("http://elsewhere/healthz"),
    "a proxy's word": request("elsewhere:443", "CONNECT"),
    "no target": b"GET  HTTP/1.1\r\n\r\n",
    "a NUL": request("/healthz%00"),
    "a NUL as it is": b"GET /health\0z HTTP/1.1\r\n\r\n",
    "a line break in the target": request("/healthz%0d%0aX: y"),
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
    "an HTTP of the future": b"GET /healthz HTTP/9.9\r\n\r\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\nHost: x\r\n y\r\nBad Name: 1\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed(shared_collector: Collector, what: str) -> None:
    """Refused, or cut off without a word; never taken for something else."""
    said = talk(shared_collector, MALFORMED[what])
    assert status_of(said) in (0, 400, 404, 405, 411, 413, 414, 431, 501), said
    assert said.count(b"HTTP/1.1 ") <= 1, said  # what follows is no request of its own
    assert shared_collector.get("/healthz") == {"status": "ok"}


def test_bytes_at_random(shared_collector: Collector) -> None:
    """Requests that were right before some of their bytes were changed."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    good = [
        request("/api/v1/jobs?limit=3"),
        request(INGEST, "POST", "Content-Length: 64") + bytes(64),
        request(INGEST, "POST", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\n\r\n",
        request("/healthz", "HEAD") + request("/healthz"),
    ]
    for _ in range(5000 if FULL else 500):
        data = bytearray(draw.choice(good))
        for _ in range(draw.randrange(1, 8)):
            place = draw.randrange(len(data))
            match draw.randrange(4):
                case 0:
                    data[place] = draw.randrange(256)
                case 1:
                    del data[place : place + draw.randrange(1, 20)]
                case 2:
                    data[place:place] = draw.randbytes(draw.randrange(1, 20))
                case 3:
                    data[place:place] = draw.choice([b"\r\n", b"\0", b"%", b":", b" ", b"\r\n\r\n"])
            if not data:
                break
        said = talk(shared_collector, bytes(data))
        assert not said or said.startswith(b"HTTP/1.1 "), (bytes(data), said)
    assert shared_collector.get("/healthz") == {"status": "ok"}
    assert memory_mib(shared_collector) < 1024


TRAVERSALS = [
    "/../../../../etc/passwd",
    "/..%2f..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/assets/../../../../etc/passwd",
    "/assets/..%5c..%5cetc%5cpasswd",
    "//etc/passwd",
    "/./etc/passwd",
    "/etc/passwd%00.html",
]
SIDE_DOORS = [
    "//api/v1/jobs",
    "/api//v1/jobs",
    "/api/v1/jobs/",
    "/api/v1//jobs",
    "/./api/v1/jobs",
    "/x/../api/v1/jobs",
    "/api/v1/x/../jobs",
    "/%61pi/v1/jobs",
    "/api%2fv1%2fjobs",
    "/API/v1/jobs",
    "/api/v1/jobs;x",
    "/api/v1/jobs?token=x",
    "/healthz/../api/v1/jobs",
    f"/api/v1/jobs/{SECRET}-0000/report",
    f"/api/v1/jobs/{SECRET}-0000/timeline",
    f"/api/v1/jobs/%2e%2e/{SECRET}-0000/report",
    "/api/v1/events",
    "/api/v1/status",
    "/api/v1/fleet/rollup",
    "/metrics",
]


def test_no_way_round(collector: Collector) -> None:
    """Without a token nobody learns a thing, however a path is spelt; nor is a file read."""
    collector.start()
    Load(collector, small_job(SECRET)).result()
    deadline = time.monotonic() + 60
    while SECRET not in collector.ask("/api/v1/jobs")[1]:  # until it is in the fleet's account
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert collector.serve("token", "add", "--role", "read").returncode == 0
    until_tokens_are_needed(collector)
    for path in TRAVERSALS + SIDE_DOORS:
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            said = talk(collector, request(path, method, "Connection: close"))
            assert SECRET.encode() not in said and b"root:" not in said, (method, path, said)
            # Else it is the page, which holds nothing of anybody's.
            if status_of(said) == 200:
                assert b"text/html" in said, (method, path, said)


def until_tokens_are_needed(collector: Collector) -> None:
    deadline = time.monotonic() + 30
    while collector.ask("/api/v1/jobs")[0] != 401:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_pages_of_elsewhere(collector: Collector) -> None:
    """A page in a browser of this machine, of a name that its owner has pointed here, or of any
    other origin: without tokens it learns nothing and changes nothing."""
    collector.start()
    Load(collector, small_job(SECRET)).result()
    evil = ("Host: evil.example:8743", "Connection: close")
    for target in SIDE_DOORS:
        for method in ("GET", "HEAD", "POST"):
            said = talk(collector, request(target, method, *evil))
            assert SECRET.encode() not in said, (method, target, said)
            assert status_of(said) != 200 or b"text/html" in said, (method, target, said)
    acknowledge = "/api/v1/regressions/1/acknowledge"
    body = b'{"by": "mallory"}'
    length = f"Content-Length: {len(body)}"

    def post(target: str, *headers: str) -> int:
        words = (length, "Connection: close", *headers)
        return status_of(talk(collector, request(target, "POST", *words) + body))

    own = f"Host: localhost:{collector.port}"
    as_json = "Content-Type: application/json"
    assert post(acknowledge, own, as_json) == 404  # there is none, and it was looked for
    assert post(acknowledge, own, as_json, f"Origin: http://localhost:{collector.port}") == 404
    assert post(acknowledge, own, as_json, "Origin: https://evil.example") == 403
    assert post(acknowledge, own, as_json, "Origin: null") == 403
    assert post(acknowledge, own, as_json, "Sec-Fetch-Site: cross-site") == 403
    assert post(acknowledge, own, "Content-Type: text/plain") == 415
    assert post(acknowledge, own) == 415
    assert post(INGEST, own, "Origin: https://evil.example") == 403
    assert post(INGEST, own) == 400  # it is no batch
    # Who has a token is known by that, whatever the name.
    made = json.loads(collector.serve("token", "add", "--role", "read", "--json").stdout)
    until_tokens_are_needed(collector)
    token = f"Authorization: Bearer {made['token']}"
    said = talk(collector, request("/api/v1/jobs", "GET", *evil, token))
    assert status_of(said) == 200, said


def test_the_head_of_a_stream(shared_collector: Collector) -> None:
    said = talk(shared_collector, request("/api/v1/events", "HEAD", "Connection: close"))
    assert status_of(said) == 200 and b"text/event-stream" in said
    assert said.index(b"\r\n\r\n") == len(said) - 4, said


def test_guesses_at_a_token(collector: Collector) -> None:
    """One answer for all, and soon they have to wait; who has one does not. There is a line for
    each of the first, and a count of the others: nobody fills a disk by guessing."""
    collector.start()
    made = json.loads(collector.serve("token", "add", "--role", "read", "--json").stdout)
    until_tokens_are_needed(collector)
    good = made["token"]
    before = collector.log.read_text().count('"status":4')
    guesses = [good[:-1], good + "x", good.lower(), "hw_" + "A" * 43, "x" * 5000, "hw_"] * 5
    answers = [collector.ask("/api/v1/jobs", guess) for guess in guesses]
    bodies = {status: set() for status, _ in answers}  # type: dict[int, set[str]]
    for status, body in answers:
        bodies[status].add(body)
    assert set(bodies) <= {401, 429} and 429 in bodies, answers
    assert all(len(said) == 1 for said in bodies.values()), bodies
    assert collector.ask("/api/v1/jobs", good)[0] == 200
    log = collector.log.read_text()
    assert log.count('"status":4') == before + len(guesses), log
    assert good not in log
    for _ in range(500):
        assert collector.ask("/api/v1/jobs", guesses[0])[0] in (401, 429)
    assert collector.stop() == 0
    told, counted = 0, 0
    for line in collector.log.read_text().splitlines():
        row = json.loads(line) if line.startswith("{") else {}
        told += "status" in row and row["peer"] == "127.0.0.1"
        counted += sum(row.get("left_out", {}).values())
    assert told < 150, told
    assert told + counted >= len(guesses) + 500, (told, counted)


def answers_to(collector: Collector, data: bytes, count: int) -> bytes:
    """The heads of so many answers on one connection, or of fewer if it is closed before."""
    with connect(collector) as client:
        client.sendall(data)
        said = b""
        while said.count(b"\r\n\r\n") < count and (part := client.recv(65536)):
            said += part
        return said


def test_a_good_token_has_its_share(collector: Collector) -> None:
    """One that asks more often than it may is told when to come back; another one does not notice,
    and it may go on then."""
    collector.start()
    made = [collector.serve("token", "add", "--role", "read", "--json").stdout for _ in range(2)]
    greedy, other = (json.loads(text)["token"] for text in made)
    until_tokens_are_needed(collector)
    deadline = time.monotonic() + 30
    while collector.ask("/api/v1/status", other)[0] != 200:  # it is known a moment later
        assert time.monotonic() < deadline
        time.sleep(0.1)
    # Of all that needs a token this is the least work.
    many = 500
    ask = request("/api/v1/events", "HEAD", f"Authorization: Bearer {greedy}") * many
    for _ in range(400):
        said = answers_to(collector, ask, many)
        if b"HTTP/1.1 429 " in said:
            break
    heads = said.split(b"\r\n\r\n")
    assert {status_of(head) for head in heads if head} <= {200, 429}, said
    [refused, *_] = [head for head in heads if status_of(head) == 429]
    assert collector.ask("/api/v1/status", other)[0] == 200
    wait_s = int(refused.lower().split(b"retry-after: ")[1].split(b"\r\n")[0])
    assert wait_s >= 1
    time.sleep(wait_s)
    assert collector.ask("/api/v1/status", greedy)[0] == 200
    assert '"status":429' in collector.log.read_text()
    assert greedy not in collector.log.read_text()


def test_the_audit_has_all_that_is_refused(collector: Collector) -> None:
    """Not only tokens: what is not there, too long, malformed, or of a token taken back."""
    collector.start()
    for data in (
        request("/api/v1/nothing"),
        request("/nothing.js"),  # what is open to all has places that are not there, too
        request("/api/v1/jobs", "DELETE"),
        request("/api/v1/jobs/nobody/report"),
        request(INGEST, "POST", "Content-Length: 99999999"),
        request(INGEST, "POST", "Content-Length: 4") + b"junk",
        request("/api/v1/jobs?limit=x"),
        b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 100_000,
        b"nonsense\r\n\r\n",
        request("/api/v1/status", "GET", "Host: evil.example"),
    ):
        talk(collector, data)
    assert collector.stop() == 0
    lines = [line for line in collector.log.read_text().splitlines() if line.startswith("{")]
    rows = [json.loads(line) for line in lines]
    told = [(row["method"], row["path"], row["status"]) for row in rows]
    assert told == [
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/nothing.js", 404),
        ("DELETE", "/api/v1/jobs", 405),
        ("GET", "/api/v1/jobs/nobody/report", 404),
        ("POST", INGEST, 413),
        ("POST", INGEST, 400),
        ("GET", "/api/v1/jobs", 400),
        ("", "", 431),
        ("", "", 400),
        ("GET", "/api/v1/status", 403),
    ], collector.log.read_text()
    assert all(row["peer"] == "127.0.0.1" and row["why"] for row in rows), rows


def test_clients_that_do_not_hurry(collector: Collector, tmp_path: Path) -> None:
    """Slow requests, slow readers and such that say nothing at all, beside a fleet that reports."""
    collector.start()
    Load(collector, small_job("first")).result()
    many = 200
    slow_heads = [connect(collector) for _ in range(many)]
    slow_bodies = [connect(collector) for _ in range(many)]
    silent = [connect(collector) for _ in range(many)]
    deaf = [connect(collector) for _ in range(many)]
    half_open = [connect(collector) for _ in range(many)]
    for each in slow_bodies:
        each.sendall(request(INGEST, "POST", "Content-Length: 1000000") + b"x")
    for each in deaf:  # ask for a lot, and read nothing of it
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        each.setblocking(False)
        try:
            for _ in range(50):
                each.send(request("/api/v1/jobs/first-0000/report") * 20)
        except BlockingIOError:
            pass
    for each in half_open:
        each.sendall(request("/api/v1/events"))
        each.shutdown(socket.SHUT_WR)
    shape = small_job("beside") | {"jobs": 4, "steps": 120, "begin-ns": time.time_ns()}
    load = Load(collector, shape, "--every-ms", "100")
    cut = 0
    deadline = time.monotonic() + 60
    while cut < many:  # ten seconds are what a head may take
        assert time.monotonic() < deadline, f"{cut} of {many} were cut off"
        time.sleep(0.5)
        cut = sum(not still_open(each, b"G") for each in slow_heads)
        for each in slow_bodies[:10]:
            still_open(each, b"x")
    assert collector.get("/healthz") == {"status": "ok"}
    load.result()
    assert_all_told(collector, shape, tmp_path / "journals")
    assert memory_mib(collector) < 1024
    if FULL:  # thirty seconds are what a body may take
        deadline = time.monotonic() + 120
        while any(still_open(each, b"x") for each in slow_bodies):
            assert time.monotonic() < deadline
            time.sleep(1)
    for each in slow_heads + slow_bodies + silent + deaf + half_open:
        each.close()
    assert collector.get("/healthz") == {"status": "ok"}


def still_open(client: socket.socket, more: bytes) -> bool:
    """After one byte more."""
    try:
        client.send(more)
        client.setblocking(False)
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
