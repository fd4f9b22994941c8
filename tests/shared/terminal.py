"""A pseudo-terminal for `headway run`, with keys that a test types."""

from __future__ import annotations

import fcntl
import os
import pty
import sys
import termios
import threading


class Terminal:
    """A pseudo-terminal with the agent as its foreground job."""

    def __init__(self, agent, *arguments: str) -> None:
        self.leader, follower = pty.openpty()
        self.output = bytearray()

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = agent.start(
            *("--python", sys.executable, *arguments),
            stdin=follower,
            stdout=follower,
            stderr=follower,
            preexec_fn=take_terminal,
        )
        os.close(follower)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self.leader, 4096):
                self.output.extend(chunk)
        except OSError:
            pass  # the last process on the other side has gone

    def type(self, keys: bytes) -> None:
        os.write(self.leader, keys)

    def wait(self) -> int:
        code = self.process.wait(timeout=30)
        self.reader.join(timeout=30)
        os.close(self.leader)
        return code
