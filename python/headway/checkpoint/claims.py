"""Which folder has which checkpointer in this process: two would number each other's steps."""

from __future__ import annotations

import os
from typing import Any

from headway.checkpoint.errors import CheckpointUsageError

_owners: dict[str, Any] = {}  # by folder, until it is closed; training thread only


def check(folder: str) -> None:
    """Raises where another one has it."""
    if os.path.realpath(folder) in _owners:
        raise CheckpointUsageError(
            f"checkpointer: {folder} has a checkpointer in this process already: close() that one "
            "first, or save into another folder"
        )


def claim(folder: str, owner: Any) -> None:
    _owners[os.path.realpath(folder)] = owner


def release(owner: Any) -> None:
    """The owner is done, or will never be used again."""
    for path in [path for path, one in _owners.items() if one is owner]:
        del _owners[path]
