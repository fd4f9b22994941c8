from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts import BINARY, Network, wait_until, why_no_namespaces


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Callable[[int], Network]]:
    if reason := why_no_namespaces():
        pytest.skip(f"NO NETWORK NAMESPACES HERE, several nodes are NOT tested: {reason}")
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is not built; build it or set HEADWAY_BIN")
    made: list[Network] = []

    def make(count: int) -> Network:
        net = Network(tmp_path, count)
        made.append(net)
        net.up()
        return net

    yield make
    for net in made:
        for host in net.hosts:
            for process in host.agents:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        try:
            wait_until(lambda net=net: not net.living(), "all processes are gone")
        finally:
            for pid in net.living():
                os.kill(pid, signal.SIGKILL)
            net.down()


@pytest.fixture
def until() -> Callable[[Callable[[], bool], str], None]:
    return wait_until
