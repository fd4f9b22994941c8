"""A Python that has imported torch and becomes the scripts that it is asked for: warm_python.py.

Each request comes on a connection of its own, with the script's output streams. A process between
this one and the script's waits for that one and tells how it ended."""

from __future__ import annotations

import json
import os
import random
import select
import socket
import sys
from typing import Any

REQUEST_BYTES_MAX = 1 << 20


def read_request(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    data, streams, _, _ = socket.recv_fds(connection, REQUEST_BYTES_MAX, 2)
    while not data.endswith(b"\n"):
        data += connection.recv(REQUEST_BYTES_MAX)
    return json.loads(data), streams


def watch(connection: socket.socket, pid: int) -> None:
    """The process between: whoever asked may be gone."""
    try:
        connection.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    finally:
        os._exit(0)


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def serve(listener: socket.socket) -> dict[str, Any]:
    """Returns in the process that is to become a script."""
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:  # closed: the tests are over
            os._exit(0)
        connection, _ = listener.accept()
        request, streams = read_request(connection)
        if os.fork() != 0:
            connection.close()
            for stream in streams:
                os.close(stream)
            reap()
            continue
        listener.close()
        pid = os.fork()
        if pid != 0:
            for stream in streams:
                os.close(stream)
            watch(connection, pid)
        connection.close()
        for number, stream in enumerate([os.open(os.devnull, os.O_RDONLY), *streams]):
            os.dup2(stream, number)
            os.close(stream)
        return request


def become(request: dict[str, Any]) -> Any:
    """What tells this process from one that was started; then the script's code."""
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    script = request["argv"][0]
    sys.argv[:] = request["argv"]
    sys.path[0] = os.path.dirname(script)
    random.seed()
    numpy.random.seed()
    with open(script, "rb") as file:
        return compile(file.read(), script, "exec")


if __name__ == "__main__":
    import numpy
    import torch  # noqa: F401 (for whoever comes of this process)

    code = become(serve(socket.socket(fileno=int(sys.argv[1]))))
    __file__ = sys.argv[0]
    for name in [name for name in globals() if not name.startswith("__") and name != "code"]:
        del globals()[name]
    exec(code)  # here, so that the script's names live as long as those of a main module do
