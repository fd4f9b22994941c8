"""A rank that comes to the rendezvous before rank 0's store does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from headway._auto import rendezvous


@pytest.fixture
def bound():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        yield made


def test_it_sees_who_listens(bound):
    bound.listen()
    assert rendezvous.await_listener(bound.getsockname()[1])


def test_a_port_that_is_only_reserved_does_not_listen(bound, monkeypatch):
    monkeypatch.setattr(rendezvous, "WAIT_MAX_S", 0.05)
    assert not rendezvous.await_listener(bound.getsockname()[1])


def test_it_waits_for_whoever_comes_later(bound, monkeypatch):
    monkeypatch.setattr(rendezvous, "WAIT_MAX_S", 60.0)  # a busy machine starts Python slowly
    port = bound.getsockname()[1]
    text = f"import socket, time; time.sleep(0.3); s = socket.create_server(('::1', {port}),"
    text += " family=socket.AF_INET6); print('listens', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as later:
        assert rendezvous.await_listener(port)
        assert later.stdout.readline() == "listens\n"
        later.communicate("\n")


def test_only_ranks_beside_rank_0_wait(monkeypatch):
    asked = []
    monkeypatch.setattr(rendezvous, "await_listener", asked.append)
    monkeypatch.setattr(os, "environ", {"MASTER_PORT": "4711", "GROUP_RANK": "0"})
    rendezvous.before_store(("127.0.0.1", 4711, 1, 2, None), {})
    assert asked == [], "not of headway run"
    os.environ["HEADWAY_RANK_PID"] = "1"
    rendezvous.before_store(("127.0.0.1", 4711, 0, 2, None), {})
    rendezvous.before_store(("127.0.0.1", 4712, 1, 2, None), {})
    assert asked == [], "rank 0 is the one; another store is another matter"
    rendezvous.before_store(("127.0.0.1", 4711, 1, 2, None), {})
    rendezvous.before_store((), {"hostname": "127.0.0.1", "port": 4711, "rank": 1})
    assert asked == [4711, 4711]
    os.environ["GROUP_RANK"] = "1"
    rendezvous.before_store(("node1", 4711, 1, 2, None), {})
    assert asked == [4711, 4711], "another machine's table would be needed"
