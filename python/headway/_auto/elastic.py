"""torchrun, when it runs inside `headway run -- torchrun …`: it restarts ranks by itself, and only
it learns how they died. Its process is no rank; it keeps a launcher's journal for each of its
attempts: when it began to start the ranks, and who ended how.

`accelerate launch` and whatever else uses torch's elastic agent in the launcher's process is seen
in the same way. A rank's own journal finds the same attempt by TORCHELASTIC_RESTART_COUNT.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from headway import _recorder as rec
from headway._auto import post_import
from headway._auto.session import session
from headway._recorder import core

AGENT_MODULE = "torch.distributed.elastic.agent.server.local_elastic_agent"
PROCESSES_MODULE = "torch.distributed.elastic.multiprocessing.api"
JOURNAL_BYTES_MAX = 1 << 20

_told = False  # of the attempt's failure


def arm() -> None:
    """In a launcher's process: waits for torch's elastic agent."""
    post_import.after(AGENT_MODULE, lambda m: _watch(m, "LocalElasticAgent", START, _starting))
    post_import.after(PROCESSES_MODULE, lambda m: _watch(m, "PContext", STOP, _stopping))


START = "_initialize_workers"  # of the first ranks and of their successors
STOP = "close"  # what torchrun does first when it has found a rank dead


def _watch(module: ModuleType, owner: str, name: str, enter: Callable[[Any], None]) -> None:
    kind = getattr(module, owner, None)
    if not hasattr(kind, name):
        session.warn(f"{module.__name__} has no {owner}.{name}", "torchrun's restarts")
        return
    setattr(kind, name, core.Around(getattr(kind, name), enter))


def _starting(agent: Any) -> None:
    """An attempt begins: its journal takes the place of the one before."""
    global _told
    _told = False
    spec = agent._worker_group.spec
    environ = os.environ
    before = int(environ.get("HEADWAY_RESTARTS", "0"))
    attempt = (
        int(environ["HEADWAY_ATTEMPT"]) - before + spec.max_restarts - agent._remaining_restarts
    )
    job = environ["HEADWAY_JOB"]
    core.shutdown()
    error = core.init(
        dir=os.path.join(environ["HEADWAY_DIR"], job, str(attempt)),
        job=job,
        attempt=attempt,
        rank=rec.RANK_AGENT,
        local_rank=rec.RANK_AGENT,
        world_size=spec.local_world_size,
        max_bytes=JOURNAL_BYTES_MAX,
    )
    if error:
        session.stop(f"cannot open a journal: {os.strerror(error)}", "torchrun's restarts")
        return
    core.mark(rec.MARKS["launcher_start"])


def _stopping(processes: Any) -> None:
    """torchrun is about to stop the ranks that are left: because the job is done, or because of
    those that it found dead, which are all in _failures."""
    global _told
    failures = getattr(processes, "_failures", None)
    if not failures or _told:
        return
    _told = True
    ends = {int(processes.envs[local]["RANK"]): _end(f) for local, f in failures.items()}
    # Of those found dead at one look, who was killed came first: the others lost their peer.
    first = min(ends, key=lambda rank: (ends[rank][1] == 0, rank))
    _mark("failure", first, *ends[first])
    for rank, end in ends.items():
        _mark("exit", rank, *end)


def _end(failure: Any) -> tuple[int, int]:
    """Exit code and signal."""
    code = failure.exitcode
    return (code, 0) if code >= 0 else (0, -code)


def _mark(mark: str, rank: int, exit_code: int, signal: int) -> None:
    core.mark_end(rec.MARKS[mark], exit_code, signal, rec.ORIGIN_UNKNOWN, rank, 0)
