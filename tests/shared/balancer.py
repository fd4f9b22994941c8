"""What stands before one collector or several: every batch goes to one of them, some to two or
twice, some late, and all of them come again and again. Keeps count of what was acknowledged."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Balancer:
    def __init__(self, urls: list[str]) -> None:
        self.places = [urlsplit(url).netloc for url in urls]
        self.seed = random.randrange(1 << 32)
        print(f"balancer's seed {self.seed}")
        self._draw = random.Random(self.seed)
        self._lock = threading.Lock()
        self.acknowledged: dict[str, int] = {}  # journal → slots
        self.answers: dict[int, int] = {}  # status → how many
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = outer.pass_on(self.path, body)
                self.send_response(status)
                if status == 503:
                    self.send_header("Retry-After", "1")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A sender that is gone is no news."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._sent: list[tuple[str, bytes]] = []
        self._over = threading.Event()
        repeaters = [self._repeat] * 3
        self._threads = [
            threading.Thread(target=each) for each in (self._server.serve_forever, *repeaters)
        ]
        for thread in self._threads:
            thread.start()

    def pass_on(self, path: str, body: bytes) -> tuple[int, bytes]:
        with self._lock:
            order = self._draw.sample(self.places, len(self.places))
            order = order if len(order) > 1 else order * 2
            twice = self._draw.random() < 0.3
            late_s = self._draw.uniform(0, 0.3) if self._draw.random() < 0.2 else 0.0
        time.sleep(late_s)
        told = (503, b"{}")
        self._sent.append((path, body))
        for i, place in enumerate(order):
            told = self._post(place, path, body)
            if told[0] != 503 and not (twice and i == 0):
                break
        return told

    def _repeat(self) -> None:
        """What somebody has sent at some time, to anybody."""
        while not self._over.wait(0.01):
            if self._sent:
                with self._lock:
                    place = self._draw.choice(self.places)
                    path, body = self._draw.choice(self._sent)
                status, told = self._post(place, path, body)
                assert status in (200, 409, 503), told

    def _post(self, place: str, path: str, body: bytes) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(place, timeout=120)
        try:
            connection.request("POST", path, body)
            answer = connection.getresponse()
            told = (answer.status, answer.read())
        except OSError:
            told = (503, b"{}")
        except http.client.HTTPException:
            told = (503, b"{}")
        finally:
            connection.close()
        with self._lock:
            self.answers[told[0]] = self.answers.get(told[0], 0) + 1
            if told[0] == 200:
                for row in json.loads(told[1])["journals"]:
                    slots = max(row["next"], self.acknowledged.get(row["id"], 0))
                    self.acknowledged[row["id"]] = slots
        return told

    def snapshot(self) -> dict[str, int]:
        with self._lock:
            return dict(self.acknowledged)

    def close(self) -> None:
        self._over.set()
        self._server.shutdown()
        for thread in self._threads:
            thread.join()
        self._server.server_close()
