"""Which replica is this job's: its folder in shared memory, its holder, and this attempt."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
import time
from typing import Any, NamedTuple

from headway._recorder import core
from headway._run import world_size
from headway.checkpoint import agree
from headway.checkpoint.errors import CheckpointError

SHARED_MEMORY = "/dev/shm"
THREADS_MAX = 4


class Place(NamedTuple):
    folder: str  # of the replica
    command: list[str]  # that starts its holder; empty: the agent does
    job: str
    attempt: int
    rank: int
    world_size: int
    local_world_size: int
    local_rank: int
    run: int = 0  # of the attempt, where it is on several machines: drawn by lot


def number(key: str, default: int) -> int:
    """Of the environment."""
    try:
        return int(os.environ.get(key, default))
    except ValueError:
        return default


def headway_binary() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), "headway")
    found = os.environ.get("HEADWAY_BIN") or shutil.which("headway")
    found = found or (beside if os.access(beside, os.X_OK) else None)
    if found is None:
        raise CheckpointError(
            "checkpointer: the `headway` program is not on PATH; set HEADWAY_BIN to it"
        )
    return found


def find_place(checkpoints: str) -> Place:
    rank, ranks = number("RANK", 0), world_size()
    local_ranks = max(1, min(ranks, number("LOCAL_WORLD_SIZE", ranks)))
    local_rank = number("LOCAL_RANK", rank % local_ranks)
    job = os.environ.get("HEADWAY_JOB") or os.path.basename(checkpoints.rstrip("/")) or "job"
    if (given := os.environ.get("HEADWAY_REPLICA")) is not None:
        attempt = number("HEADWAY_ATTEMPT", 1)
        # Attempts are counted in a folder that somebody may remove. What machines write together
        # must not be mixed with what is left of another first attempt.
        run = agree.broadcast(secrets.randbits(63)) if local_ranks < ranks else 0
        return Place(given, [], job, attempt, rank, ranks, local_ranks, local_rank, run)
    # Without an agent: whoever saves into this folder goes on from its replica.
    digest = hashlib.blake2b(os.path.realpath(checkpoints).encode(), digest_size=8).hexdigest()
    root = os.environ.get("HEADWAY_REPLICA_DIR") or f"{SHARED_MEMORY}/headway-{os.getuid()}"
    folder = os.path.join(root, digest)
    attempt = agree.broadcast(time.time_ns() // 1_000_000)
    command = [headway_binary(), "ckpt", "hold", folder]
    return Place(folder, command, job, attempt, rank, ranks, local_ranks, local_rank)


def trusted_attempts(place: Place) -> range:
    """Whose memory need not be read before it is taken over: the agent has seen how each of them
    ended, and none of them in a way that may have written anywhere. An attempt of an earlier run,
    or without an agent, is none of these."""
    first = number("HEADWAY_REPLICA_TRUSTED", 0)
    return range(first, place.attempt) if first > 0 else range(0)


def threads(local_world_size: int) -> int:
    """The trainer waits meanwhile, so its cores are free; more than a few do not copy faster."""
    cores = len(os.sched_getaffinity(0)) // local_world_size
    return max(1, min(THREADS_MAX, cores))


def make_trainer(
    place: Place,
    checkpoints: str,
    keep_last: int,
    keep_every_s: float,
    upload: str = "",
    keep_uploaded: int = 0,
) -> Any:
    from headway import _replica

    return _replica.Trainer(
        folder=place.folder,
        checkpoints=os.path.abspath(checkpoints),
        job=place.job,
        attempt=place.attempt,
        run=place.run,
        rank=place.rank,
        world_size=place.world_size,
        local_world_size=place.local_world_size,
        command=place.command,
        threads=threads(place.local_world_size),
        keep_last=keep_last,
        keep_every_s=keep_every_s,
        upload=upload,
        keep_uploaded=keep_uploaded,
        record=getattr(core, "hw_checkpoint", None) if core.active() else None,
    )
