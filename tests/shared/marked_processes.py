"""Processes that a test has started, wherever they have moved to: they inherit a variable."""

from __future__ import annotations

from pathlib import Path


def proc_file(pid: int, name: str) -> bytes:
    """What /proc says of a process; nothing once it is gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def parent_of(pid: int) -> int:
    """Zero once it is gone."""
    words = proc_file(pid, "stat").rpartition(b")")[2].split()
    return int(words[1]) if words else 0


def processes_with(name: str, value: str) -> list[int]:
    """Those whose environment has name=value."""
    wanted = f"{name}={value}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        if wanted in proc_file(int(path.name), "environ").split(b"\0"):
            found.append(int(path.name))
    return found
