from __future__ import annotations

from pathlib import Path

import pytest
from cache_command import HEADWAY, Cache


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """With a key: what it packs is signed, and trusted."""
    if not HEADWAY.exists():
        pytest.fail(f"{HEADWAY} is not built; build it or set HEADWAY_BIN")
    made = Cache(tmp_path / "home")
    made.home.mkdir()
    made.run("keygen")
    return made
