"""What goes wrong with a checkpoint, in one line for a person. The names are a promise: scripts
catch by them, and an agent tells by them what a restart can help with.

CheckpointError             of any kind; itself, trouble of the disk, the memory or the store
  CheckpointUsageError      the script asks for what cannot be; again it will be the same
  CheckpointMismatchError   what is saved does not fit what the script has
  CheckpointDamagedError    what is saved is damaged
  CheckpointNotFoundError   nothing is saved there; a FileNotFoundError, too
"""

from headway._replica import CheckpointDamagedError, CheckpointError


class CheckpointUsageError(CheckpointError, ValueError):
    """The script asks for what cannot be."""


class CheckpointMismatchError(CheckpointError):
    """A saved state does not fit; another may."""


class CheckpointNotFoundError(CheckpointError, FileNotFoundError):
    """Nothing is saved there."""


__all__ = [
    "CheckpointDamagedError",
    "CheckpointError",
    "CheckpointMismatchError",
    "CheckpointNotFoundError",
    "CheckpointUsageError",
]

for _kind in (
    CheckpointDamagedError,
    CheckpointError,
    CheckpointMismatchError,
    CheckpointNotFoundError,
    CheckpointUsageError,
):
    _kind.__module__ = "headway.checkpoint"  # where they are imported from, not where they are made


def ends_early(error: BaseException | None) -> bool:
    """Does this exception end a training before its time?"""
    clean = isinstance(error, SystemExit) and error.code in (None, 0)
    return error is not None and not clean
