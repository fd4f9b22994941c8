"""A line that counts, slows down and cuts: a TCP relay in a thread. And a server that says what a
test tells it to say."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 65536
# Of a client that sends the head of a request at once, as ours does.
REQUEST = re.compile(rb"^((?:GET|HEAD|PUT|POST|DELETE) \S+) HTTP/1\.1\r$", re.MULTILINE)


class Relay:
    """Passes bytes on to a port; `up_bytes` counts those of the clients, `down_bytes` the others.
    While it is `down` every connection is cut."""

    def __init__(
        self, port: int, bytes_per_s: int | None = None, down_bytes_per_s: int | None = None
    ) -> None:
        self.up_bytes = 0
        self.down_bytes = 0
        self.requests: list[str] = []  # "GET /path?query", in the order that they came in
        self.down = False
        self.cut_after: int | None = None  # every connection, after so many bytes of its client
        self.cuts_left = 0
        self._to = port
        self._rate = bytes_per_s
        self._down_rate = down_bytes_per_s
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.down:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._to))
                threading.Thread(target=self._carry_up, args=(near, far), daemon=True).start()
                threading.Thread(target=self._carry_down, args=(far, near), daemon=True).start()

    def _carry_up(self, near: socket.socket, far: socket.socket) -> None:
        seen = 0
        with contextlib.suppress(OSError):
            while data := near.recv(PIECE):
                seen += len(data)
                with self._lock:
                    self.up_bytes += len(data)
                    self.requests += [found.decode() for found in REQUEST.findall(data)]
                    cut = (
                        self.cut_after is not None and seen > self.cut_after and self.cuts_left > 0
                    )
                    self.cuts_left -= cut
                if cut or self.down:
                    break
                far.sendall(data)
                if self._rate is not None:
                    time.sleep(len(data) / self._rate)
        for each in (near, far):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _carry_down(self, far: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(PIECE):
                near.sendall(data)
                with self._lock:
                    self.down_bytes += len(data)
                if self._down_rate is not None:
                    time.sleep(len(data) / self._down_rate)
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)


Answer = tuple[int, dict[str, str], bytes]


class OddServer:
    """`answer(method, path, body)` for each request; a Content-Length that it names is sent as it
    is, true or not."""

    def __init__(self, answer: Callable[[str, str, bytes], Answer]) -> None:
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append(f"{self.command} {self.path}")
                status, headers, data = answer(self.command, self.path, body)
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(data))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)
                if "Content-Length" in headers and self.command != "HEAD":
                    self.close_connection = True

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
