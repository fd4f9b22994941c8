"""Small things that were found out about this torch, in the cache directory: one file each, which
`headway cache` packs with the rest. A name says all that the answer depends on."""

from __future__ import annotations

import os
import sys

BYTES_MAX = 4096


def _path(name: str) -> str:
    """Where torch itself would look now: a script may have said where. OSError: nowhere."""
    place = sys.modules.get("torch._inductor.runtime.cache_dir_utils")
    if place is None:
        raise FileNotFoundError("this torch keeps its caches elsewhere")
    return os.path.join(place.cache_dir(), "cache", "headway-" + name)


def torch_name() -> str:
    """Version and commit. Imports nothing."""
    version = sys.modules.get("torch.version")
    return f"{getattr(version, '__version__', '')} {getattr(version, 'git_version', '')}"


def read(name: str) -> bytes:
    """b'': it is not known."""
    try:
        with open(_path(name), "rb") as file:
            return file.read(BYTES_MAX)
    except OSError:
        return b""


def write(name: str, value: bytes) -> None:
    """Whole or not at all; where it cannot be written it is found out again."""
    temporary = ""
    try:
        path = _path(name)
        temporary = f"{path}.{os.getpid()}.tmp"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(value)
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass


def forget(name: str) -> None:
    try:
        os.unlink(_path(name))
    except OSError:
        pass
