"""`headway serve` as tests use it."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from free_ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = os.environ.get("HEADWAY_BIN", str(ROOT / "build/headway"))


class Collector:
    """`headway serve`, which can be killed and started again on the same store."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        self.log = folder / "serve.log"
        self.port = free_ports(1)[0]  # one that is still free when it is started again
        self.process: subprocess.Popen[str] | None = None

    def start(self, *options: str, environment: dict[str, str] | None = None) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [HEADWAY, "serve", *self.store_words()]
                + ["--listen", f"127.0.0.1:{self.port}", *options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ | (environment or {}),
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"listening on https?://127\.0\.0\.1:(\d+)", line)
        assert found, f"{line!r}: {self.log.read_text()}"
        self.port = int(found[1])

    def store_words(self) -> list[str]:
        return ["--store", str(self.store)]

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(timeout=60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, token: str = "") -> Any:
        request = urllib.request.Request(self.url + path)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def ask(
        self, path: str, token: str = "", method: str = "GET", body: bytes | None = None
    ) -> tuple[int, str]:
        """The status and the text, whatever they are. A body is JSON."""
        request = urllib.request.Request(self.url + path, data=body, method=method)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def open(self, path: str, token: str = "") -> http.client.HTTPResponse:
        """An answer that does not end, to be read line by line and closed."""
        request = urllib.request.Request(self.url + path)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        return urllib.request.urlopen(request, timeout=60)

    def first_words(self, path: str, token: str = "") -> tuple[int, str]:
        """The status and the first line of an answer that does not end."""
        try:
            with self.open(path, token) as answer:
                return answer.status, answer.readline().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def serve(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`headway serve WORDS`, on the same store."""
        return subprocess.run(
            [HEADWAY, "serve", *words, "--store", str(self.store)],
            capture_output=True,
            text=True,
            timeout=120,
        )


class DemoCollector(Collector):
    """`headway serve --demo`: a made-up fleet with jobs that run, in a store that goes away."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder

    def store_words(self) -> list[str]:
        return ["--demo"]

    def start(self, *options: str, environment: dict[str, str] | None = None) -> None:
        super().start(*options, environment={"TMPDIR": str(self.folder)} | (environment or {}))
        [self.store] = self.folder.glob("headway-demo-*/*.db")
