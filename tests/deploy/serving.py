"""A collector and a Prometheus that really run, for as long as a test needs them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from deploying import HEADWAY
from free_ports import free_ports

PATIENCE_S = 90
STOP_MAX_S = 30


@contextlib.contextmanager
def running(command: list[Any], **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([str(word) for word in command], text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=STOP_MAX_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def collector(log: Path, *options: Any) -> Iterator[str]:
    """`headway serve OPTIONS` on a free port; the address."""
    command = [HEADWAY, "serve", "--listen", "127.0.0.1:0", *options]
    with log.open("w") as err, running(command, stdout=subprocess.PIPE, stderr=err) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", line)
        assert found, f"{line!r}: {log.read_text()}"
        yield found[1]


def until(what: str, holds: Callable[[], Any]) -> Any:
    """What `holds` says as soon as it is true of something."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = holds()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"waited in vain for {what}")


class Prometheus:
    """The HTTP interface of a Prometheus."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **arguments: str) -> Any:
        query = f"?{urllib.parse.urlencode(arguments)}" if arguments else ""
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}{query}", timeout=30) as answer:
            told = json.load(answer)
        assert told["status"] == "success" and not told.get("warnings"), told
        return told["data"]

    def samples(self, expression: str) -> list[dict[str, Any]]:
        """Those of an instant vector; a query that does not parse raises."""
        return self.get("query", query=expression)["result"]

    def values(self, expression: str) -> list[float]:
        return [float(sample["value"][1]) for sample in self.samples(expression)]


@contextlib.contextmanager
def prometheus(program: str, folder: Path, config: Path) -> Iterator[Prometheus]:
    (port,) = free_ports(1)
    log = folder / "prometheus.log"
    command = [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}"]
    with log.open("w") as err, running(command, stderr=err, cwd=folder) as process:
        server = Prometheus(f"http://127.0.0.1:{port}")

        def ready() -> bool:
            assert process.poll() is None, log.read_text()
            try:
                with urllib.request.urlopen(f"{server.url}/-/ready", timeout=5) as answer:
                    return answer.status == 200
            except OSError:
                return False

        until("Prometheus", ready)
        yield server


def token(store: Path, role: str, tenant: str) -> str:
    command = [HEADWAY, "serve", "token", "add", "--role", role, "--tenant", tenant]
    done = subprocess.run(
        [*command, "--store", store, "--json"], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)["token"]


def ship(folder: Path, job: str, to: str, secret: str) -> None:
    subprocess.run(
        [HEADWAY, "ship", job, "--every-host", "--dir", folder, "--to", to],
        check=True,
        capture_output=True,
        env=os.environ | {"HEADWAY_TOKEN": secret},
    )
