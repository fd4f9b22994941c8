"""Saves, kills the holder of its agent and ends at once: nobody asks for another holder."""

import os
import signal
from pathlib import Path

import torch

import headway as hw


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


keeper = hw.checkpointer(model=torch.nn.Linear(300, 300), folder=os.environ["FOLDER"])
keeper.restore()
keeper.save(1)
keeper.wait()
os.kill(holder(), signal.SIGKILL)
os._exit(0)
