"""A disk of a few MiB that can be filled, where this user may mount one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


class SmallDisk:
    def __init__(self, folder: Path, mib: int) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"
        folder.mkdir(exist_ok=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=0777", "none", str(folder)]
        try:
            done = subprocess.run(words, capture_output=True, text=True)
        except FileNotFoundError:
            pytest.skip("there is no mount here")
        if done.returncode != 0:
            pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")

    def fill(self, leave_kib: int = 0) -> None:
        """Up to so much, or to the last byte."""
        kib = int(
            subprocess.run(
                ["df", "--output=avail", "-k", str(self.folder)], capture_output=True, text=True
            ).stdout.split()[-1]
        )
        with self.ballast.open("ab", buffering=0) as file:
            left = (kib - leave_kib) * 1024
            while left > 0:
                try:
                    left -= file.write(bytes(min(left, 1 << 16)))
                except OSError:
                    return

    def empty(self) -> None:
        self.ballast.unlink()

    def remove(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=True)
