"""A PostgreSQL server of one's own, and collectors that share a database on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collector"))

from collector_pair import Pair
from postgres_servers import PROGRAMS, Server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PROGRAMS is not None:
        return
    here = Path(__file__).resolve().parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.skip(reason="no PostgreSQL server is installed here"))


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    made.init()
    made.start()
    yield made
    made.remove()


@pytest.fixture
def pairs(tmp_path: Path) -> Iterator[list[Pair]]:
    """Those that a test has added end with it."""
    made: list[Pair] = []
    yield made
    for each in made:
        each.end()


@pytest.fixture
def pair(server: Server, pairs: list[Pair], tmp_path: Path) -> Pair:
    pairs.append(Pair(tmp_path, server.url))
    return pairs[0]
