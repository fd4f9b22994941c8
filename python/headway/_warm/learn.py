"""In a rank: tells the fork server what was imported up to here, so that the next rank is forked
with it. Called after the first step and after saves; the trainer never waits for the server."""

from __future__ import annotations

import json
import os
import sys

from headway._warm import birth

SUFFIXES = (".py", ".so", ".pyc")
TELLS_MAX = 8
_told: list[int] = []  # modules there were, each time the server was told


def _importable(name: str, module: object) -> bool:
    spec = getattr(module, "__spec__", None)
    origin = getattr(spec, "origin", None)
    return (
        spec is not None
        and getattr(spec, "name", None) == name
        and isinstance(origin, str)
        and origin.endswith(SUFFIXES)
        and name.partition(".")[0] not in ("headway", "sitecustomize", "usercustomize", "__main__")
    )


def tell() -> None:
    count = len(sys.modules)
    if birth.learn_fd < 0 or count in _told or len(_told) == TELLS_MAX:
        return
    _told.append(count)
    names = [name for name, module in list(sys.modules.items()) if _importable(name, module)]
    path = f"{birth.learn_file}.{os.getpid()}"
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(names, file)
        os.write(birth.learn_fd, path.encode() + b"\n")
    except OSError:
        birth.learn_fd = -1  # the server is gone or asleep: nobody listens any more
