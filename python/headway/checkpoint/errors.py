"""What goes wrong with a checkpoint, in one line for a person."""

from headway._replica import CheckpointError

__all__ = ["CheckpointError"]
