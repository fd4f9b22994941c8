"""moto as a second S3 server, of other people's making; a test may spoil an answer on its way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

# (method, path with query) of a request → status, headers and body instead of moto's; or what is
# done to moto's own body; or nothing.
Answer = tuple[str, list[tuple[str, str]], bytes]
Spoil = Callable[[str, str], "Answer | Callable[[bytes], bytes] | None"]


class MotoServer:
    def __init__(self) -> None:
        self.spoil: Spoil = lambda method, path: None
        self.requests: list[str] = []
        self._app = DomainDispatcherApplication(create_backend_app)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        path = environ["PATH_INFO"] + "?" + environ.get("QUERY_STRING", "")
        self.requests.append(f"{method} {path}")
        spoiled = self.spoil(method, path)
        if isinstance(spoiled, tuple):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            status, headers, body = spoiled
            start(status, [*headers, ("Content-Length", str(len(body)))])
            return [body]
        answer = self._app(environ, start)
        if spoiled is None:
            return answer
        return [spoiled(b"".join(answer))]  # its length stays as it was said

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
