"""The holder of the script that asks."""

import os
from pathlib import Path


def holder() -> int:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:3] == [b"ckpt", b"hold"] and words[3].startswith(
            os.environ["HEADWAY_REPLICA_DIR"].encode()
        ):
            return int(path.name)
    raise SystemExit("there is no holder")
