"""The training position, kept beside a checkpoint: {job, step, data, per_step}.

It travels as an extended attribute of the file (user.headway.position), so it follows a rename and
shows in no listing. A copy, an upload or a file system without attributes loses it: so a small file
in the job's Headway folder has it too, named by the checkpoint's content, of which a few samples
are read. A folder (DCP) carries it on its `.metadata`. Reading and writing never raise.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, NamedTuple

ATTRIBUTE = "user.headway.position"
FILES_MAX = 4096  # files by content kept; the oldest go first
PRUNE_EVERY = 64  # of them
FOLDER = "positions"
ENDS_BYTES = 16384  # a zip's directory, with a checksum of every tensor, is at its end
SAMPLES, SAMPLE_BYTES = 64, 256
SHARDS_MAX = 8  # of a folder

_written = 0


class Position(NamedTuple):
    step: int
    data: int | None
    per_step: int


def _job() -> str:
    return os.environ.get("HEADWAY_JOB", "default")


def _carrier(path: str) -> str:
    """The file that carries a checkpoint's position."""
    return os.path.join(path, ".metadata") if os.path.isdir(path) else path


def _fingerprint_file(path: str, digest: hashlib._Hash) -> None:
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(size.to_bytes(8, "little"))
        digest.update(os.pread(file.fileno(), ENDS_BYTES, 0))
        digest.update(os.pread(file.fileno(), ENDS_BYTES, max(0, size - ENDS_BYTES)))
        for i in range(SAMPLES):
            digest.update(os.pread(file.fileno(), SAMPLE_BYTES, size * i // SAMPLES))


def _content_of(path: str) -> str:
    """What tells a checkpoint's content from others'."""
    digest = hashlib.blake2b(digest_size=16)
    if os.path.isdir(path):
        for name in sorted(os.listdir(path))[:SHARDS_MAX]:
            file = os.path.join(path, name)
            if os.path.isfile(file):
                _fingerprint_file(file, digest)
    else:
        _fingerprint_file(path, digest)
    return digest.hexdigest()


def _by_content(content: str) -> str:
    """Where the position of a checkpoint with this content is kept. Raises without a folder."""
    root = os.environ.get("HEADWAY_DIR")
    if not root:
        raise OSError("no folder")
    return os.path.join(root, _job(), FOLDER, content + ".json")


def write(path: str, position: Position) -> bool:
    """Leaves the position with the checkpoint at `path`."""
    try:
        fields = {"job": _job(), **position._asdict(), "content": _content_of(path)}
    except Exception:
        return False
    written = False
    for keep in (_write_attribute, _write_by_content):
        try:
            keep(path, fields)
            written = True
        except Exception:
            continue
    return written


def _write_attribute(path: str, fields: dict[str, Any]) -> None:
    os.setxattr(_carrier(path), ATTRIBUTE, json.dumps(fields).encode())


def _write_by_content(_path: str, fields: dict[str, Any]) -> None:
    global _written
    target = _by_content(fields["content"])
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    temporary = f"{target}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(fields, file)
    os.replace(temporary, target)
    _written += 1
    if _written % PRUNE_EVERY == 0:
        _prune(folder)


def _prune(folder: str) -> None:
    names = os.listdir(folder)
    if len(names) <= FILES_MAX:
        return
    paths = [os.path.join(folder, name) for name in names]
    paths.sort(key=os.path.getmtime)
    for path in paths[: len(paths) - FILES_MAX]:
        os.unlink(path)


def read(path: str) -> Position | None:
    """The position of what is at `path`, if this job left one."""
    try:
        content = _content_of(path)
    except Exception:
        return None
    for look in (_read_attribute, _read_by_content):
        try:
            fields = look(path, content)
            # A file that was written anew in place still has the attribute of the old one.
            if fields["job"] != _job() or fields["content"] != content:
                continue
            data = fields["data"]
            return Position(
                int(fields["step"]), None if data is None else int(data), int(fields["per_step"])
            )
        except Exception:
            continue
    return None


def _read_attribute(path: str, _content: str) -> Any:
    return json.loads(os.getxattr(_carrier(path), ATTRIBUTE))


def _read_by_content(_path: str, content: str) -> Any:
    with open(_by_content(content), encoding="utf-8") as file:
        return json.load(file)
