"""Runs scripts that import torch in processes that have it already: forked from one that imported
it once. Importing is most of the processor time of the small trainings that the tests start by the
hundred. What a script finds is what a start of its own would give it, but for /proc/<pid>/environ
and the time that importing takes.

Where a variable differs that is read while Python starts or torch is imported, the script is
started as ever, and so is every script where HEADWAY_TEST_COLD is set."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

SERVER = Path(__file__).parent / "warm_server.py"
# Read before a script's first line: by the interpreter, by torch or by what it is linked with.
EARLY = ("PYTHON", "TORCH", "OMP_", "MKL_", "KMP_", "GOMP_", "LD_", "MALLOC_")
SERVERS_MAX = 2

_lock = threading.Lock()
_servers: dict[tuple[tuple[str, str], ...], _Server] = {}


class _Server:
    def __init__(self, env: Mapping[str, str]) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="warm-")
        self.path = f"{self.folder.name}/socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path)
            listener.listen()
            self.process = subprocess.Popen(
                [sys.executable, str(SERVER), str(listener.fileno())],
                env=env,
                stdin=subprocess.PIPE,  # its end is the server's
                pass_fds=[listener.fileno()],
            )
        atexit.register(self.close)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def _server_for(env: Mapping[str, str]) -> _Server | None:
    key = tuple(sorted((name, value) for name, value in env.items() if name.startswith(EARLY)))
    with _lock:
        if key not in _servers and len(_servers) < SERVERS_MAX:
            kept = {name: env[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in env}
            _servers[key] = _Server(kept | dict(key))  # nothing of one test's own
        return _servers.get(key)


def run(
    argv: list[str], env: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run([sys.executable, *argv], …) with its output as text."""
    server = None if "HEADWAY_TEST_COLD" in env else _server_for(env)
    if server is None:
        return subprocess.run(
            [sys.executable, *argv], env=env, capture_output=True, text=True, timeout=timeout_s
        )
    request = json.dumps({"argv": argv, "env": dict(env), "cwd": os.getcwd()}) + "\n"
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        connection.settimeout(timeout_s)
        connection.connect(server.path)
        socket.send_fds(connection, [request.encode()], [out.fileno(), err.fileno()])
        answers = connection.makefile("r")
        pid = int(answers.readline())
        try:
            code = int(answers.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(argv, timeout_s) from None
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
        return subprocess.CompletedProcess(argv, code, *texts)
