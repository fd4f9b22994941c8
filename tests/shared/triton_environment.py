"""An environment with Triton, made on first use: build/triton-venv, from requirements/triton.txt.

    python tests/shared/triton_environment.py      # prints its interpreter

It sees the packages of the environment that made it, torch among them. HEADWAY_TRITON_PYTHON names
another interpreter with Triton. 286 MB are downloaded and 1.1 GB unpacked, once."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements/triton.txt"


class Missing(Exception):
    """It cannot be made here: no network, no disk."""


def interpreter() -> str:
    given = os.environ.get("HEADWAY_TRITON_PYTHON")
    if given:
        return given
    folder = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build")) / "triton-venv"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several tests may want it at once
        stamp = folder / "requirements.txt"
        if not stamp.exists() or stamp.read_text() != REQUIREMENTS.read_text():
            _make(folder)
            shutil.copy(REQUIREMENTS, stamp)
    return str(folder / "bin/python")


def _make(folder: Path) -> None:
    print(f"making {folder} (286 MB to download)", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    commands = [
        [sys.executable, "-m", "venv", str(folder)],
        [*pip, "--disable-pip-version-check", "-r", str(REQUIREMENTS)],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
        if done.returncode != 0:
            raise Missing(f"{' '.join(command[:4])} …: {done.stderr.strip()[-300:]}")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    ours = folder / "lib" / version / "site-packages"
    (ours / "torch_of_another_environment.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")


if __name__ == "__main__":
    print(interpreter())
