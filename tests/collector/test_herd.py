"""Many senders that lost their collector, and how they come back: each at a time of its own."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from collecting import HEADWAY, Collector
from loading import LOAD, Shape, assert_all_told, words_of

FULL = bool(os.environ.get("HEADWAY_TEST_FULL"))
SENDERS = 200 if FULL else 24
AWAY_S = 30 if FULL else 5
RETRY_AFTER_S = 1


class Busy(ThreadingHTTPServer):
    """In the collector's place: takes nothing, says when to come again, and notes who came when."""

    daemon_threads = True
    request_queue_size = 1024
    allow_reuse_address = True

    def __init__(self, port: int, status: int) -> None:
        self.status = status
        self.came: dict[str, list[float]] = defaultdict(list)
        self.answered: dict[str, list[float]] = defaultdict(list)
        super().__init__(("127.0.0.1", port), Refusal)
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self.thread.start()

    def close(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()


class Refusal(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        assert isinstance(self.server, Busy)
        self.server.came[self.path].append(time.monotonic())
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.status)
        self.send_header("Retry-After", str(RETRY_AFTER_S))
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.close_connection = True
        # Before the client can know of it.
        self.server.answered[self.path].append(time.monotonic())
        self.end_headers()

    def log_message(self, format: str, *words: object) -> None:
        pass


def most_within(times: list[float], seconds: float) -> int:
    """The most that came within so short a time."""
    times = sorted(times)
    return max(sum(begin <= t < begin + seconds for t in times) for begin in times)


def test_a_herd(collector: Collector, tmp_path: Path) -> None:
    shape: Shape = {"jobs": SENDERS, "ranks": 2, "steps": 60, "step-ms": 100}
    shape |= {"begin-ns": time.time_ns() - 10**11}
    jobs = tmp_path / "jobs"
    subprocess.run([LOAD, "journals", str(jobs), *words_of(shape)], check=True)
    collector.start()  # so that the port is known
    assert collector.stop() == 0
    senders = [
        subprocess.Popen(
            [HEADWAY, "ship", path.name, "--to", collector.url, "--every-host", "--json"]
            + ["--wait", "10m"],
            env=os.environ | {"HEADWAY_DIR": str(jobs)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for path in sorted(jobs.iterdir())
    ]
    try:
        time.sleep(AWAY_S)  # nobody is there
        for status in (503, 429):
            busy = Busy(collector.port, status)
            deadline = time.monotonic() + 180
            while len([seen for seen in busy.came.values() if len(seen) > 1]) < SENDERS // 2:
                assert time.monotonic() < deadline, busy.came
                time.sleep(0.1)
            busy.close()
            first = [seen[0] for seen in busy.came.values()]
            print(
                f"{status}: {len(first)} of {SENDERS} came within {max(first) - min(first):.1f} s, "
                f"at most {most_within(first, 0.1)} in a tenth of a second"
            )
            # As long as they were told, and not all together.
            for path, seen in busy.came.items():
                for answered, again in zip(busy.answered[path], seen[1:], strict=False):
                    assert again - answered >= RETRY_AFTER_S, (path, seen)
            assert most_within(first, 0.1) < SENDERS // 2, sorted(first)
        collector.start()
        for sender in senders:
            output, errors = sender.communicate(timeout=300)
            assert json.loads(output)["complete"], errors
            assert errors.count("\n") <= 6, errors  # what changes is said, not every try
    finally:
        for sender in senders:
            sender.kill()
    assert_all_told(collector, shape, tmp_path / "again")
