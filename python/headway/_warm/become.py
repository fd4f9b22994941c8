"""From a forked copy of the server to a rank: environment, descriptors, parent, seeds."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

PR_SET_PDEATHSIG = 1
SIGKILL = 9
EXIT_AGENT_FAULT = 125
PARENT_WAIT_S = 0.0002
ROOM_VARIABLE = "HEADWAY_WARM_ROOM"
FIRST_SHOWN = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "HEADWAY_RANK_PID", "HEADWAY_ATTEMPT")


@dataclass
class Rank:
    """One rank of a request."""

    environment: dict[str, str]
    removed: list[str]
    streams: list[int] = field(default_factory=list)  # stdin, stdout, stderr, or none of them
    agent: int = 0
    asked_ns: int = 0


def take_streams(rank: Rank) -> None:
    for target, fd in enumerate(rank.streams):
        os.dup2(fd, target)
    for fd in rank.streams:
        if fd > 2:
            os.close(fd)
    for stream, fd in ((sys.stdout, 1), (sys.stderr, 2)):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and rank.streams:
            reconfigure(line_buffering=os.isatty(fd))


def take_thread() -> None:
    """Python 3.11 leaves the main thread the kernel's number of the process it was copied from."""
    set_native_id = getattr(threading.main_thread(), "_set_native_id", None)
    if set_native_id is not None:
        set_native_id()


def take_environment(rank: Rank) -> None:
    begin, room = _find_room()
    for name in rank.removed:
        os.environ.pop(name, None)
    os.environ.update(rank.environment)
    os.environ["HEADWAY_RANK_PID"] = str(os.getpid())
    if room:
        _show_environment([*rank.environment, "HEADWAY_RANK_PID"], begin, room)


def _find_room() -> tuple[int, int]:
    """/proc/<pid>/environ shows the memory that the process was started with, and people look for
    RANK there. The agent has left room: a variable that is nothing but long. (address, bytes)"""
    getenv: Any = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_void_p
    value = getenv(ROOM_VARIABLE.encode())
    room = len(os.environ.get(ROOM_VARIABLE, ""))
    if not value or not room:
        return 0, 0
    name = len(ROOM_VARIABLE) + 1
    return value - name, name + room


def _show_environment(names: list[str], begin: int, room: int) -> None:
    shown = b""
    for name in sorted(names, key=lambda name: name not in FIRST_SHOWN):
        entry = f"{name}={os.environ[name]}".encode("utf-8", "surrogateescape") + b"\0"
        if len(shown) + len(entry) <= room:
            shown += entry
    ctypes.memmove(begin, shown.ljust(room, b"\0"), room)


def take_parent(rank: Rank) -> None:
    """Waits until the process between us and the agent is gone, and dies with the agent from then
    on, like a rank that it started itself."""
    middle = os.getppid()
    while (parent := os.getppid()) != rank.agent:
        if parent != middle:
            os._exit(EXIT_AGENT_FAULT)  # the agent died meanwhile
        time.sleep(PARENT_WAIT_S)
    libc: Any = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != rank.agent:
        os._exit(EXIT_AGENT_FAULT)
