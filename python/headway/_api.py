"""What a training script may say about itself. Nothing here raises for want of a journal."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from headway import _recorder as rec
from headway._recorder import core
from headway._run import run, static_batch_size, world_size

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

PHASES_MAX = 4096  # distinct names kept; further ones share "~other"


def _disabled() -> bool:
    return os.environ.get("HEADWAY_DISABLE") == "1"


def _root() -> str:
    if root := os.environ.get("HEADWAY_DIR"):
        return root
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "headway")


def _next_attempt(job_dir: str, ranks: int) -> int:
    """The attempt's id where no launcher gave one."""
    if given := os.environ.get("HEADWAY_ATTEMPT"):
        return int(given)
    if ranks > 1:  # ranks cannot agree by looking at folders
        return 1 + int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    if not os.path.isdir(job_dir):
        return 1
    return 1 + max((int(name) for name in os.listdir(job_dir) if name.isdecimal()), default=0)


def init(
    job: str | None = None,
    *,
    dir: str | os.PathLike[str] | None = None,
    attempt: int | None = None,
    rank: int | None = None,
    max_bytes: int = 0,
) -> bool:
    """Begins to record, if nothing records yet. True when this process is recording.

    Under `headway run` everything comes from the launcher and the arguments are not needed.
    Elsewhere `job` names the run and its journal goes below HEADWAY_DIR.
    """
    if core.active():
        return True
    if _disabled():
        return False
    if run.claim is not None:
        return run.claim()
    try:
        ranks = world_size()
        name = job or os.environ.get("HEADWAY_JOB") or "default"
        job_dir = os.path.join(dir if dir is not None else _root(), name)
        number = attempt if attempt is not None else _next_attempt(job_dir, ranks)
        error = core.init(
            dir=os.path.join(job_dir, str(number)),
            job=name,
            attempt=number,
            rank=int(os.environ.get("RANK", "0")) if rank is None else rank,
            local_rank=int(os.environ.get("LOCAL_RANK", "0")),
            world_size=ranks,
            max_bytes=max_bytes or int(os.environ.get("HEADWAY_JOURNAL_MAX_BYTES", "0")),
        )
    except (OSError, ValueError):
        return False
    return error == 0


class Phase(core.Phase):  # type: ignore[misc,name-defined]
    """A span by name: `with hw.phase("load"):` or `@hw.phase("load")`."""

    __slots__ = ("name",)
    name: str

    def __call__(self, function: _F) -> _F:
        name = self.name  # looked up at each call: a decorator may run before recording begins

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with phase(name):
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


_phases: dict[str, Phase] = {}


def phase(name: str) -> Phase:
    """The span `name`, as a context manager or a decorator. The names of the start-up stages count
    as those stages; any other name is the script's own."""
    found = _phases.get(name)
    return found if found is not None else _make_phase(name)


def _make_phase(name: str) -> Phase:
    recording = core.active()
    known = len(_phases) < PHASES_MAX
    made = Phase(core.phase_id(name if known else "~other") if recording else 0)
    made.name = name
    if recording and known:
        _phases[name] = made
    return made


def mark(name: str) -> None:
    """An instant, one of the timeline's marks; ValueError for a name that is none."""
    if name not in rec.MARKS:
        raise ValueError(f"headway.mark: {name!r} is not one of {', '.join(rec.MARKS)}")
    core.mark(rec.MARKS[name])


def checkpoint_staged(step: int, data: int | None = None) -> None:
    """The state after `step` is safe from this process's death."""
    core.checkpoint(step, data, rec.STAGED)


def checkpoint_durable(step: int, data: int | None = None) -> None:
    """The state after `step` is on storage that survives the job."""
    core.checkpoint(step, data, rec.DURABLE)


def checkpoint_failed(step: int, data: int | None = None) -> None:
    """The save of the state after `step` came to nothing, or not beyond memory."""
    core.checkpoint(step, data, rec.FAILED)


_blocked = Phase(rec.CHECKPOINT_BLOCKED)
_blocked.name = "checkpoint_blocked"


def checkpoint_blocked() -> Phase:
    """`with hw.checkpoint_blocked():` training waits for a save."""
    return _blocked


def restore(step: int, data: int | None = None, tier: str = "disk") -> None:
    """The state after `step` was loaded; further steps are numbered from there."""
    core.restore(step, data, core.name_id(tier))
    run.step = step
    run.data = data


def attr(key: str, value: object) -> None:
    """A property of the job or attempt, for roll-ups: family, team, revision…"""
    core.attr(str(key), str(value))


def should_stop(step: int | None = None) -> bool:
    """True when the job was asked to stop (a preemption, a node that is drained, SIGTERM, Ctrl-C):
    save and end. Ask after every step, on every rank: all get their True after the same step, so a
    checkpoint of that step is whole. From the first question on SIGTERM, SIGINT and SIGHUP do not
    end this process any more; `headway run` gives it the time to get there, and kills when
    asked twice.

    `step` counts up by one on all ranks alike; without it the position that is recorded serves.
    Outside of `headway run` always False."""
    global _asked
    if not _asked:
        _asked = True
        _survive_stop_signals()
    return bool(core.should_stop(run.step if step is None else step))


_asked = False


def _survive_stop_signals() -> None:
    """A scheduler may send one to every process, and a terminal does to a single rank, whose last
    save it would end. The agent has got it too. A handler of the script's own stays."""
    if "HEADWAY_BOARD" not in os.environ:
        return
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, lambda *_: None)
    except ValueError:
        pass  # not the main thread: only it may say so


def stats() -> dict[str, Any]:
    """Whether this process records, and what it recorded and dropped."""
    return core.stats()


def _read_step(state: Any) -> int | None:
    try:
        value = state["step"] if hasattr(state, "__getitem__") else state.step
    except (KeyError, AttributeError, IndexError):
        return None
    return int(value)


def _write_step(state: Any, step: int) -> None:
    if hasattr(state, "__setitem__"):
        state["step"] = step
    else:
        state.step = step


def steps(
    loader: Iterable[_T],
    state: Any = None,
    start: int = 0,
    data_per_step: int | None = None,
) -> Iterator[_T]:
    """Iterates over `loader` and records each wait for data and each step.

    A step ends when the next item is asked for, or when the loop ends. `state["step"]` (or
    `state.step`) holds the number of finished steps, is read at the start, and counts on from
    there; so does `start`. `data_per_step` is the number of samples that all ranks together consume
    in a step; where it is left out, the loader's fixed batch size times WORLD_SIZE.
    """
    known = _read_step(state) if state is not None else None
    first = known if known is not None else (start or run.step)
    per_step = data_per_step
    if per_step is None and (size := static_batch_size(loader)) is not None:
        per_step = size * world_size()
    if per_step is None:
        run.data = None
    elif first != run.step or run.data is None:
        run.data = first * per_step
    run.step = first
    run.explicit = True
    return _steps(loader, state, per_step)


def _steps(loader: Iterable[_T], state: Any, per_step: int | None) -> Iterator[_T]:
    phase_now = rec.GET_FIRST_BATCH_DATA if run.ask_first_batch() else rec.DATA_WAIT
    core.begin(phase_now)
    try:
        iterator = iter(loader)
    except BaseException:
        core.end(phase_now)
        raise
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        finally:
            core.end(phase_now)
        number = run.step + 1
        data = None if run.data is None or per_step is None else run.data + per_step
        core.step(number, data)
        try:
            yield item
        finally:
            core.step_end(number, data)
            run.step = number
            run.data = data
            if state is not None:
                _write_step(state, number)
        phase_now = rec.DATA_WAIT
        core.begin(phase_now)
