"""Checkpoints that cost a copy and lose nothing: docs/saving.md."""

from headway.checkpoint.checkpointer import Checkpointer
from headway.checkpoint.errors import (
    CheckpointDamagedError,
    CheckpointError,
    CheckpointMismatchError,
    CheckpointNotFoundError,
    CheckpointUsageError,
)
from headway.checkpoint.loader import resumable

__all__ = [
    "CheckpointDamagedError",
    "CheckpointError",
    "CheckpointMismatchError",
    "CheckpointNotFoundError",
    "CheckpointUsageError",
    "Checkpointer",
    "resumable",
]
