"""A collector on a port of its own, with a store that goes away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from collecting import Collector


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    made = Collector(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.kill()


@pytest.fixture(scope="module")
def shared_collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """One for all tests of a file that do it no harm."""
    made = Collector(tmp_path_factory.mktemp("shared"))
    made.start()
    yield made
    made.kill()
