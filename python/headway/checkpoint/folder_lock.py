"""The lock of a folder of checkpoints, for whoever commits into it without a holder."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakValueDictionary

from headway import _replica

_mutex = threading.Lock()
_held: WeakValueDictionary[str, Any] = WeakValueDictionary()


def take(folder: str, purpose: str) -> Any:
    """For as long as the answer is kept. Shared by all of this process: saves of one job may
    overlap, and one that failed is no reason to refuse the next, whatever its error still holds."""
    real = os.path.realpath(folder)
    with _mutex:
        lock = _held.get(real)
        if lock is None or not lock.is_at(real):
            lock = _held[real] = _replica.FolderLock(real, purpose)
        return lock
