"""The whole way of a regression: days of starts, sent to a real collector; the alert, the webhook
at a real receiver, the event, the acknowledgement, the end of it, and its return."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import queue
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from collecting import HEADWAY, Collector

TOLD_STARTS = Path(HEADWAY).resolve().parent / "bin/told_starts"
SECRET = "between us"
COMPONENT = "compile_cold"
WAIT_S = 120  # for what happens soon; a test that fails ends


class Receiver:
    """A webhook's other end: answers as it is told to, and keeps what it gets."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)  # then 200
        self.got: list[dict[str, Any]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(receiver.take(dict(self.headers), body))
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook"

    def take(self, headers: dict[str, str], body: bytes) -> int:
        lower = {name.lower(): value for name, value in headers.items()}
        text = lower["x-headway-timestamp"].encode() + b"." + body
        wanted = "sha256=" + hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest()
        status = self.answers.pop(0) if self.answers else 200
        self.got.append(
            json.loads(body)
            | {"delivery": lower["x-headway-delivery"], "answered": status}
            | {"signed": hmac.compare_digest(wanted, lower["x-headway-signature"])}
        )
        return status

    def taken(self) -> list[tuple[str, str]]:
        return [(one["delivery"], one["state"]) for one in self.got if one["answered"] == 200]

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.stop()


def until(good: Callable[[], Any], collector: Collector) -> Any:
    """What `good` says once it is true."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if found := good():
            return found
        time.sleep(0.05)
    raise AssertionError(collector.log.read_text()[-3000:])


def send(collector: Collector, *shape: object, token: str = "") -> None:
    """Starts of days that are over, as told_starts makes them."""
    told = subprocess.run(
        [TOLD_STARTS, *map(str, shape)], check=True, stdout=subprocess.PIPE
    ).stdout
    connection = http.client.HTTPConnection("127.0.0.1", collector.port, timeout=60)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    while told:
        line, _, told = told.partition(b"\n")
        job, attempt, size = line.decode().split()
        connection.request(
            "POST", f"/api/v1/ingest/{job}/{attempt}", told[: int(size)], headers=headers
        )
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        told = told[int(size) :]
    connection.close()


def history(collector: Collector, token: str = "") -> None:
    """Twelve days as ever, and three on which compiling takes twice as long."""
    send(collector, 1, "good", 20, 9, 12, 40, token=token)
    send(collector, 2, "slow", 8, 6, 12, 80, token=token)


def start(collector: Collector, receiver: Receiver, *options: str) -> None:
    collector.start(
        "--watch-every",
        "1s",
        "--webhook",
        receiver.url,
        *options,
        environment={"HEADWAY_WEBHOOK_SECRET": SECRET},
    )


def alerts(collector: Collector, token: str = "") -> list[dict[str, Any]]:
    told = collector.get("/api/v1/regressions?state=all", token)["regressions"]
    return [one for one in told if one["component"] == COMPONENT]


def in_state(collector: Collector, state: str, token: str = "") -> Callable[[], Any]:
    return lambda: [one for one in alerts(collector, token) if one["state"] == state]


def acknowledge(collector: Collector, number: int, token: str = "") -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(
        f"{collector.url}/api/v1/regressions/{number}/acknowledge",
        data=json.dumps({"by": "ada", "note": "bisecting"}).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@contextmanager
def events(collector: Collector) -> Iterator[queue.Queue[dict[str, Any]]]:
    """Those about regressions, as they come."""
    connection = http.client.HTTPConnection("127.0.0.1", collector.port, timeout=WAIT_S)
    connection.request("GET", "/api/v1/events")
    answer = connection.getresponse()
    assert answer.status == 200
    out: queue.Queue[dict[str, Any]] = queue.Queue()

    def read() -> None:
        name = ""
        try:
            for line in iter(answer.readline, b""):
                if line.startswith(b"event: "):
                    name = line[7:].strip().decode()
                elif line.startswith(b"data: ") and name == "regression":
                    out.put(json.loads(line[6:]))
        except (OSError, ValueError, http.client.HTTPException):
            pass

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    yield out
    if connection.sock is not None:
        connection.sock.close()


def next_event(seen: queue.Queue[dict[str, Any]], number: int) -> str:
    while True:
        event = seen.get(timeout=WAIT_S)
        if event["id"] == number:
            return event["state"]


def told_again(receiver: Receiver) -> list[tuple[str, int]]:
    """What was taken after the first regression had gone: its state and number."""
    states = [(one["state"], one["id"]) for one in receiver.got if one["answered"] == 200]
    return states[2:]


def test_from_the_first_slow_start_to_its_return(collector: Collector, receiver: Receiver) -> None:
    receiver.answers = [500, 500]
    start(collector, receiver)
    with events(collector) as seen:
        history(collector)
        found = until(in_state(collector, "open"), collector)[0]
        number = found["id"]
        assert next_event(seen, number) == "open"
        # Refused twice, then taken, all under one name and signed.
        until(receiver.taken, collector)
        mine = [one for one in receiver.got if one["id"] == number]
        assert {one["delivery"] for one in mine} == {f"default-{number}-1"}
        assert all(one["signed"] for one in receiver.got)
        assert mine[-1]["event"] == "regression" and mine[-1]["tenant"] == "default"
        assert mine[-1]["regression"]["component"] == COMPONENT
        assert found["time_to_alert_s"] > 0
        until(lambda: alerts(collector)[0]["change_pct"] > 60, collector)  # all of it is there

        code, told = acknowledge(collector, number)
        assert (code, told["state"]) == (200, "acknowledged")
        until(lambda: next_event(seen, number) == "acknowledged", collector)

        # A day as it was before: mended. Nobody loses what they said of it.
        send(collector, 3, "mended", 5, 5, 30, 40)
        gone = until(in_state(collector, "gone"), collector)[0]
        assert gone["id"] == number and gone["acknowledged"]["by"] == "ada"
        until(lambda: next_event(seen, number) == "gone", collector)
        until(lambda: (f"default-{number}-2", "gone") in receiver.taken(), collector)
        # To look after what is gone does not bring it back, on the page neither.
        assert acknowledge(collector, number)[1]["state"] == "gone"
        assert next_event(seen, number) == "gone"

        # Most of that day comes late, and was not mended at all. It comes in parts: a look at the
        # first of them may see a change that begins on that day, which is another one.
        send(collector, 4, "late", 5, 5, 300, 80)
        back = until(in_state(collector, "open"), collector)[0]
        assert back["acknowledged"] is None
        until(lambda: next_event(seen, back["id"]) == "open", collector)
        until(lambda: ("open", back["id"]) in told_again(receiver), collector)
    taken = [each for each in receiver.taken() if each[0].startswith(f"default-{number}-")]
    assert taken[:2] == [(f"default-{number}-{n}", s) for n, s in ((1, "open"), (2, "gone"))]
    metrics = collector.ask("/metrics")[1]
    assert 'headway_webhook_messages_total{outcome="taken"}' in metrics
    assert f'headway_fleet_alerts{{component="{COMPONENT}",late="' in metrics
    row = next(
        row for row in collector.get("/api/v1/regressions")["sla"] if row["component"] == COMPONENT
    )
    assert row["target_s"] == 2 * 86400 and row["alerts"] >= 1


def test_a_collector_that_is_killed_before_it_told(
    collector: Collector, receiver: Receiver
) -> None:
    receiver.answers = [503] * 10_000
    start(collector, receiver, "--alert-target", f"{COMPONENT}=30d")
    history(collector)
    number = until(in_state(collector, "open"), collector)[0]["id"]
    until(lambda: receiver.got, collector)
    collector.kill()
    assert not receiver.taken()
    receiver.answers = []
    start(collector, receiver, "--alert-target", f"{COMPONENT}=30d")
    until(lambda: (f"default-{number}-1", "open") in receiver.taken(), collector)
    assert all(one["signed"] for one in receiver.got)
    told = collector.get("/api/v1/regressions")
    assert told["attempts"] > 0 and told["attempts_left_out"] == 0
    assert len([one for one in told["regressions"] if one["component"] == COMPONENT]) == 1
    row = next(row for row in told["sla"] if row["component"] == COMPONENT)
    assert (row["target_s"], row["late"]) == (30 * 86400, 0)
    until(lambda: alerts(collector)[0]["announcement"]["outcome"] == "taken", collector)
    # Taken and noted: the next one has nothing to tell.
    collector.kill()
    before = len(receiver.got)
    start(collector, receiver)
    until(in_state(collector, "open"), collector)
    until(lambda: collector.get("/api/v1/regressions")["checked_ns"], collector)
    assert len(receiver.got) == before


def test_who_may_acknowledge(collector: Collector, receiver: Receiver) -> None:
    tokens = {}
    for tenant, role in (
        ("blue", "ingest"),
        ("blue", "read"),
        ("blue", "admin"),
        ("red", "admin"),
    ):
        done = collector.serve("token", "add", "--role", role, "--label", "x", "--tenant", tenant)
        assert done.returncode == 0, done.stderr
        tokens[tenant, role] = done.stdout.split()[0]
    red = Receiver()
    try:
        start(collector, red, "--webhook", f"blue={receiver.url}")
        history(collector, tokens["blue", "ingest"])
        found = until(in_state(collector, "open", tokens["blue", "read"]), collector)[0]
        assert alerts(collector, tokens["red", "admin"]) == []
        assert acknowledge(collector, found["id"])[0] == 401
        assert acknowledge(collector, found["id"], tokens["red", "admin"])[0] == 404
        assert acknowledge(collector, found["id"], tokens["blue", "read"])[0] == 403
        assert acknowledge(collector, found["id"], tokens["blue", "ingest"])[0] == 403
        assert in_state(collector, "open", tokens["blue", "read"])()
        code, told = acknowledge(collector, found["id"], tokens["blue", "admin"])
        assert (code, told["state"]) == (200, "acknowledged")
        assert in_state(collector, "acknowledged", tokens["blue", "read"])()
        # Each tenant's are told to its own webhook.
        until(receiver.taken, collector)
        assert {one["tenant"] for one in receiver.got} == {"blue"} and red.got == []
    finally:
        red.stop()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--webhook", "pager.example"], "give a URL"),
        (["--webhook", "blue=pager.example"], "give a URL"),
        (["--webhook", "http://a/", "--webhook", "http://b/"], "one webhook"),
        (["--alert-target", "compile_cold"], "give COMPONENT=TIME"),
        (["--alert-target", "compile_colt=1d"], "no such component"),
        (["--alert-target", "loop=soon"], "--alert-target"),
        (["--announce-from", "-1"], "--announce-from"),
        (["--try-webhook"], "--webhook URL"),
    ],
)
def test_wrong_options_are_told_in_a_line(tmp_path: Path, words: list[str], says: str) -> None:
    done = subprocess.run(
        [HEADWAY, "serve", "--store", str(tmp_path / "s.db"), "--listen", "127.0.0.1:0", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_webhook_is_tried(receiver: Receiver) -> None:
    def trying(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HEADWAY, "serve", "--try-webhook", "--webhook", *words],
            env=os.environ | {"HEADWAY_WEBHOOK_SECRET": SECRET},
            capture_output=True,
            text=True,
            timeout=60,
        )

    receiver.answers = [500]
    failed = trying(receiver.url)
    assert failed.returncode == 1 and failed.stdout == f"{receiver.url}: not taken: answers 500\n"
    taken = trying(f"blue={receiver.url}")
    assert taken.returncode == 0 and taken.stdout == f"{receiver.url}: taken: answers 200\n"
    assert [(one["event"], one["tenant"]) for one in receiver.got] == [
        ("test", "default"),
        ("test", "blue"),
    ]
    assert all(one["signed"] for one in receiver.got)
    receiver.stop()
    assert "not taken: " in trying(receiver.url).stdout
