"""Ports of this machine that nobody uses."""

from __future__ import annotations

import random
import socket

# Below those that the system gives to whoever connects (32768 on): one of those might be taken by a
# connection of somebody else's before it is listened on.
FIRST, LAST = 10_240, 32_767


def free_ports(count: int) -> list[int]:
    sockets: list[socket.socket] = []
    while len(sockets) < count:
        each = socket.socket()
        try:
            each.bind(("127.0.0.1", random.randint(FIRST, LAST)))
            sockets.append(each)
        except OSError:  # somebody has it
            each.close()
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
