"""The object store as the last tier of checkpoints. Nothing here speaks to the network: the
`headway` program does, so that a trainer has no need of libcurl, nor ever sees a secret."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from headway.checkpoint import choose, where
from headway.checkpoint.errors import CheckpointError, CheckpointUsageError

GOOD_MAX = 4  # of the store's that are looked at
LOOK_S = 10.0  # for an answer, where there is something else to go on from
LOOK_LONG_S = 120.0  # and where there is not


class StoreAway(CheckpointError):
    """It did not say what it has."""


def target(given: str | None) -> str:
    """Where checkpoints are copied to; "" for nowhere. The script's word goes first."""
    said = given if given is not None else os.environ.get("HEADWAY_CKPT_UPLOAD", "")
    if said and not said.startswith("s3://"):
        raise CheckpointUsageError(
            f"checkpointer: upload={said!r}: has to be s3://bucket/prefix (or HEADWAY_CKPT_UPLOAD)"
        )
    return said.rstrip("/")


def is_asked() -> bool:
    return os.environ.get("HEADWAY_CKPT_WITHOUT_STORE") != "1"


def _last_line(text: str | None) -> str:
    lines = (text or "").strip().splitlines()
    return lines[-1].removeprefix("headway: ") if lines else "it ended without a word"


def _answer(text: str) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {}


def look(place: str, limit_s: float) -> list[choose.Stored]:
    """The newest good ones. Raises StoreAway where that cannot be told."""
    command = [where.headway_binary(), "ckpt", "ls", place, "--last", str(GOOD_MAX), "--json"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        raise StoreAway(f"{place}: no answer within {limit_s:.0f} seconds") from None
    except OSError as error:
        raise StoreAway(f"{place}: {command[0]} cannot be started: {error}") from None
    if done.returncode != 0:
        raise StoreAway(_last_line(done.stderr))
    found = [one for one in _answer(done.stdout).get("checkpoints", []) if isinstance(one, dict)]
    good = [one for one in found if one.get("state") == "good"]
    damaged = [one for one in found if one.get("state") not in ("good", "unfinished")]
    if damaged and not good:
        # To begin anew without a word would be to lose what is there.
        raise StoreAway(f"{place}: none of its checkpoints is good: {damaged[0].get('why')}")
    return [choose.Stored(one["name"], int(one["step"]), int(one["time_ns"])) for one in good]


def fetch(place: str, name: str, folder: str) -> str:
    """A checkpoint of the store into the folder, whole; its name there. What an earlier call left
    half is gone on with. The folder's lock is the holder's of this job."""
    command = [where.headway_binary(), "ckpt", "copy", f"{place}/{name}", folder]
    shown = sys.stderr is not None and sys.stderr.isatty()
    try:
        done = subprocess.run(
            [*command, "--json", "--for-trainer"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if shown else subprocess.PIPE,
            text=True,
        )
    except OSError as error:
        raise CheckpointError(f"{place}: {command[0]} cannot be started: {error}") from None
    path = _answer(done.stdout).get("path")
    if done.returncode != 0 or not isinstance(path, str):
        why = "see above" if shown else _last_line(done.stderr)
        raise CheckpointError(f"{place}/{name} did not come down: {why}")
    return os.path.basename(path)
