"""Ranks that reach the rendezvous before rank 0's store does.

Torch's client tries at once and, refused, waits 0.4 s and more before it tries again, which is
longer than a warm restart takes. So a rank on rank 0's machine looks, for a moment at most, whether
somebody listens there already. Nothing is sent, and whatever comes of it, torch goes its own way
afterwards.
"""

from __future__ import annotations

import os
import time

TABLES = ("/proc/net/tcp6", "/proc/net/tcp")
LISTENS = "0A"
WAIT_MAX_S = 2.0
PAUSE_S = 0.002


def before_store(args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    """For torch.distributed.rendezvous._create_c10d_store(hostname, port, rank, …)."""
    port = kwargs.get("port", args[1] if len(args) > 1 else None)
    rank = kwargs.get("rank", args[2] if len(args) > 2 else None)
    beside_rank_0 = os.environ.get("GROUP_RANK") == "0" and "HEADWAY_RANK_PID" in os.environ
    if beside_rank_0 and rank != 0 and str(port) == os.environ.get("MASTER_PORT"):
        await_listener(int(os.environ["MASTER_PORT"]))
    return False


def await_listener(port: int) -> bool:
    until = time.monotonic() + WAIT_MAX_S
    while True:
        begin = time.monotonic()
        if any(_listens(table, port) for table in TABLES):
            return True
        now = time.monotonic()
        if now > until:
            return False
        time.sleep(max(PAUSE_S, 4 * (now - begin)))  # a machine with many sockets has a long table


def _listens(table: str, port: int) -> bool:
    try:
        with open(table, encoding="ascii") as file:
            text = file.read()
    except OSError:
        return False
    wanted = f":{port:04X}"
    for line in text.splitlines()[1:]:
        fields = line.split(None, 4)
        if len(fields) > 3 and fields[1].endswith(wanted) and fields[3] == LISTENS:
            return True
    return False
