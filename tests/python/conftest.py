"""The fixture of these tests; what it gives is in launching.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import Launcher


@pytest.fixture
def launch(tmp_path: Path) -> Launcher:
    return Launcher(tmp_path)
