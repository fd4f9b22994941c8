"""Checkpoints that cost a copy and lose nothing: docs/saving.md."""

from headway.checkpoint.checkpointer import Checkpointer
from headway.checkpoint.errors import CheckpointError
from headway.checkpoint.loader import resumable

__all__ = ["CheckpointError", "Checkpointer", "resumable"]
