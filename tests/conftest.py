"""Which tests may run beside each other."""

from __future__ import annotations

from pathlib import Path

import pytest

# One Slurm controller and one set of network namespaces for a machine.
ALONE = {"slurm", "nodes"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file's tests share what it has made: they go to one worker. So do those of `ALONE`."""
    for item in items:
        folder = Path(item.path).parent.name
        group = "machine" if folder in ALONE else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
