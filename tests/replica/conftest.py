"""One machine a test: replica_machine.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from replica_machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.close()
