"""What a rank writes down of its saves, for a test that kills it."""

import os
import time

RANK = int(os.environ.get("RANK", "0"))
DIARY = f"{os.environ['FOLDER']}.diary-{RANK}"
END = f"{os.environ['FOLDER']}.end"  # it is there when the training may end


def write(line: str) -> None:
    """One write: a line is there or not, whenever the process is killed."""
    fd = os.open(DIARY, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, f"{time.monotonic_ns()} {os.getpid()} {line}\n".encode())
    os.close(fd)
