"""Checkpoints that the script writes and reads with torch.save, torch.load and DCP.

A save in the loop is a `checkpoint_blocked` span and a durable checkpoint at the current step, and
leaves the position with the file. Loading such a file before the first step is a `restore`, and the
steps are numbered on from there. Loading anything else (pretrained weights, a dataset) is none of
our business, and gets no span of its own.
"""

from __future__ import annotations

import os
from typing import Any

from headway import _recorder as rec
from headway._auto import position
from headway._auto.loop import loop
from headway._auto.session import session
from headway._auto.stages import stages
from headway._recorder import core
from headway._warm import learn

TIER = "disk"


def path_of(target: Any) -> str | None:
    """The file behind a path or an open file; None for a buffer."""
    if isinstance(target, (str, os.PathLike)):
        return os.path.abspath(os.fsdecode(target))
    name = getattr(target, "name", None)
    return os.path.abspath(name) if isinstance(name, str) and os.path.exists(name) else None


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str) -> Any:
    return args[index] if len(args) > index else kwargs.get(name)


def _dcp_path(kwargs: dict[str, Any]) -> str | None:
    """Where a DCP call writes or reads: checkpoint_id, or the path of its storage."""
    target = kwargs.get("checkpoint_id")
    for key in ("storage_writer", "storage_reader"):
        if target is None and kwargs.get(key) is not None:
            target = getattr(kwargs[key], "checkpoint_id", None) or getattr(
                kwargs[key], "path", None
            )
    return path_of(target) if target is not None else None


class Saves:
    """Training thread, except `_async_done`."""

    def __init__(self) -> None:
        self.busy = False  # inside a save or load: DCP uses torch.save itself
        self.told_unknown = False

    # ---- saving

    def _save_begin(self, path: str | None) -> str | None:
        started = session.run.step > 0 or session.run.first_batch
        if self.busy or path is None or not started:
            return None
        self.busy = True
        session.flush()
        core.begin(rec.CHECKPOINT_BLOCKED)
        return path

    def _here(self) -> position.Position:
        run = session.run
        return position.Position(run.step, run.data, run.per_step)

    def save_enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        return self._save_begin(path_of(_argument(args, kwargs, 1, "f")))

    def dcp_save_enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        del args
        return self._save_begin(_dcp_path(kwargs))

    def save_leave(self, path: str, _result: object, error: object) -> None:
        self.busy = False
        here = self._here()
        if error is None:
            position.write(path, here)
        core.end(rec.CHECKPOINT_BLOCKED)
        if error is None:
            core.checkpoint(here.step, here.data, rec.DURABLE)
        learn.tell()  # what saving brings in, the next start needs for its restore
        session.last_tick = core.now()

    def async_save_leave(self, path: str, future: Any, error: object) -> None:
        self.busy = False
        here = self._here()
        core.end(rec.CHECKPOINT_BLOCKED)
        if error is not None:
            return
        core.checkpoint(here.step, here.data, rec.STAGED)
        done = getattr(future, "upload_completion", future)

        def finished(completed: Any) -> None:
            try:
                if session.on and completed.exception() is None:
                    position.write(path, here)
                    core.checkpoint(here.step, here.data, rec.DURABLE)
            except Exception:
                pass

        if hasattr(done, "add_done_callback"):
            done.add_done_callback(finished)

    # ---- loading

    def _load_begin(self, path: str | None) -> Any:
        if self.busy or not stages.open or session.run.explicit:
            return None
        found = position.read(path) if path is not None else None
        if found is None:
            if not self.told_unknown and (path is None or os.path.exists(path)):
                # Weights, or a checkpoint that we cannot place: the report says so if it matters.
                self.told_unknown = True
                name = "a buffer" if path is None else os.path.basename(path.rstrip("/"))
                core.attr("loaded_without_position", name)
            return None
        self.busy = True
        stages.end_imports()
        session.flush()
        core.begin(rec.RESTORE)
        return found

    def load_enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._load_begin(path_of(_argument(args, kwargs, 0, "f")))

    def dcp_load_enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        del args
        return self._load_begin(_dcp_path(kwargs))

    def load_leave(self, found: position.Position, _result: object, error: object) -> None:
        self.busy = False
        core.end(rec.RESTORE)
        session.last_tick = core.now()
        if error is not None:
            return
        run = session.run
        known = (run.step, run.data) == (found.step, found.data) and loop.restored
        run.step, run.data, run.per_step = found
        loop.position_restored()
        if not known:  # one checkpoint may be several files
            core.restore(found.step, found.data, core.name_id(TIER))


saves = Saves()
