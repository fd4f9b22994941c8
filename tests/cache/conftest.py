from __future__ import annotations

from pathlib import Path

import pytest
from cache_command import Cache


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """With a key: what it packs is signed, and trusted."""
    made = Cache(tmp_path / "home")
    made.home.mkdir()
    made.run("keygen")
    return made
