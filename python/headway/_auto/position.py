"""The training position, kept beside a checkpoint: {job, step, data, per_step}.

It travels as an extended attribute of the file (user.headway.position), so it follows a rename and
shows in no listing. Where the file system has none, a small file in the job's Headway folder, named
by device and inode and checked by size and modification time. A folder (DCP) carries it on its
`.metadata`. Reading and writing never raise.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

ATTRIBUTE = "user.headway.position"
FILES_MAX = 4096  # fall-back files kept; the oldest go first
FOLDER = "positions"


class Position(NamedTuple):
    step: int
    data: int | None
    per_step: int


def _job() -> str:
    return os.environ.get("HEADWAY_JOB", "default")


def _carrier(path: str) -> str:
    """The file that carries a checkpoint's position."""
    return os.path.join(path, ".metadata") if os.path.isdir(path) else path


def _fallback(status: os.stat_result) -> str | None:
    root = os.environ.get("HEADWAY_DIR")
    if not root:
        return None
    return os.path.join(root, _job(), FOLDER, f"{status.st_dev}-{status.st_ino}.json")


def write(path: str, position: Position) -> bool:
    """Leaves the position with the checkpoint at `path`."""
    try:
        carrier = _carrier(path)
        fields = {"job": _job(), **position._asdict()}
        try:
            os.setxattr(carrier, ATTRIBUTE, json.dumps(fields).encode())
            return True
        except OSError:
            return _write_fallback(carrier, fields)
    except Exception:
        return False


def _write_fallback(carrier: str, fields: dict[str, object]) -> bool:
    status = os.stat(carrier)
    target = _fallback(status)
    if target is None:
        return False
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    fields = {**fields, "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    temporary = f"{target}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(fields, file)
    os.replace(temporary, target)
    _prune(folder)
    return True


def _prune(folder: str) -> None:
    names = os.listdir(folder)
    if len(names) <= FILES_MAX:
        return
    paths = [os.path.join(folder, name) for name in names]
    paths.sort(key=os.path.getmtime)
    for path in paths[: len(paths) - FILES_MAX]:
        os.unlink(path)


def read(path: str) -> Position | None:
    """The position at `path`, if this job left one there."""
    try:
        carrier = _carrier(path)
        try:
            fields = json.loads(os.getxattr(carrier, ATTRIBUTE))
        except OSError:
            fields = _read_fallback(carrier)
        if not fields or fields["job"] != _job():
            return None
        data = fields["data"]
        return Position(
            int(fields["step"]), None if data is None else int(data), int(fields["per_step"])
        )
    except Exception:
        return None


def _read_fallback(carrier: str) -> dict[str, object] | None:
    status = os.stat(carrier)
    target = _fallback(status)
    if target is None or not os.path.exists(target):
        return None
    with open(target, encoding="utf-8") as file:
        fields = json.load(file)
    same = fields["size"] == status.st_size and fields["mtime_ns"] == status.st_mtime_ns
    return fields if same else None
