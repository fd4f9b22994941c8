"""When to save: every so many steps, or as often as costs least (docs/interval.md). Ranks save the
same steps: the first decides, and tells the others at steps that all of them know beforehand."""

from __future__ import annotations

import math
import os
import time
from enum import IntEnum
from typing import Any, Protocol

from headway import _replica
from headway._recorder import core
from headway.checkpoint.agree import Group

LOOK_MAX_S = 10.0  # between two decisions, where ranks have to talk about them
LOOK_SHARE = 0.02  # of the interval
FIRST_SAVE = 2  # steps after which it comes: the memory for it is asked for after the first
COST = 4  # where in a tuner's memory the cost of a save is; negative: none was seen


def _family() -> tuple[float, float, float, float]:
    """Failures of processes, machines and zones, and seconds in the loop, of earlier jobs of this
    one's family, as far as the agent has found any."""
    try:
        process, node, zone, seconds = map(
            float, os.environ.get("HEADWAY_FAMILY_HISTORY", "").split()
        )
    except ValueError:
        return 0.0, 0.0, 0.0, 0.0
    good = all(math.isfinite(n) and n >= 0 for n in (process, node, zone, seconds))
    return (process, node, zone, seconds) if good else (0.0, 0.0, 0.0, 0.0)


class Due(IntEnum):
    NOTHING = 0
    STAGE = 1  # into memory
    PERSIST = 2  # and on to storage


class Cadence(Protocol):
    def due(self, step: int) -> Due: ...
    def started(self, step: int, persist: bool) -> None: ...
    def returned(self, step: int) -> None: ...
    def settled(self, step: int, durable: bool) -> None: ...
    def memory(self) -> list[float]: ...
    def remember(self, memory: list[float], from_memory: bool) -> None: ...


class EverySteps:
    def __init__(self, steps: int, stage_steps: int | None = None) -> None:
        self.steps = steps
        self.stage_steps = stage_steps or steps

    def due(self, step: int) -> Due:
        if step % self.steps == 0:
            return Due.PERSIST
        return Due.STAGE if step % self.stage_steps == 0 else Due.NOTHING

    def started(self, step: int, persist: bool) -> None:
        pass

    def returned(self, step: int) -> None:
        pass

    def settled(self, step: int, durable: bool) -> None:
        pass

    def memory(self) -> list[float]:
        return []

    def remember(self, memory: list[float], from_memory: bool) -> None:
        pass


class Tuned:
    """As often as costs least, from what saves turn out to cost and how often this job fails."""

    def __init__(self, group: Group, min_s: float, max_s: float) -> None:
        self._group = group
        self._bounds = (min_s, max_s)
        self._tuner = self._make([], (0, 0, 0))
        self._next_look = 0
        self._last_ns: int | None = None
        self._evaluated_ns = core.evaluated_ns()
        self._step_s = 0.0
        self._steps = 0

    def _make(self, memory: list[float], failures: tuple[int, int, int]) -> Any:
        min_s, max_s = self._bounds
        return _replica.Tuner(
            replica=True,
            min_s=min_s,
            max_s=max_s,
            memory=memory,
            failures=failures,
            family=_family(),
            now_ns=time.monotonic_ns(),
        )

    def remember(self, memory: list[float], from_memory: bool) -> None:
        """What an earlier attempt had learnt. That there is another one is a failure, if the agent
        does not know better (it was stopped, preempted or had come to its end): of a process if its
        memory was still there, else of more. A lost zone is told from a lost machine by nobody
        here; both are answered by what is on disk."""
        failure = (1, 0, 0) if from_memory else (0, 1, 0)
        orderly = os.environ.get("HEADWAY_LAST_END") == "orderly"
        self._tuner = self._make(memory, (0, 0, 0) if orderly else failure)

    def due(self, step: int) -> Due:
        now_ns = time.monotonic_ns()
        evaluated_ns = core.evaluated_ns()
        # Or a save would look as if it had slowed down the step that came after an evaluation.
        self._tuner.step_ended(now_ns, step, evaluated_ns - self._evaluated_ns)
        self._evaluated_ns = evaluated_ns
        if self._last_ns is not None:
            self._step_s = (now_ns - self._last_ns) / 1e9
        self._last_ns = now_ns
        self._steps += 1
        if step < self._next_look:
            return Due.NOTHING
        stage, persist = self._tuner.should_save(now_ns, step)
        persist |= self._steps == FIRST_SAVE and self._knows_nothing()
        own = Due.PERSIST if persist else Due.STAGE if stage else Due.NOTHING
        due, gap = self._group.first_says([int(own), self._gap()])
        self._next_look = step + gap
        return Due(due)

    def _knows_nothing(self) -> bool:
        """No save was seen: what it costs has to be learnt, and until then all would be lost."""
        return self._tuner.memory()[COST] < 0

    def _gap(self) -> int:
        """Steps until the next decision. Alone there is nobody to tell."""
        if self._group.alone or self._step_s <= 0:
            return 1
        wait_s = min(LOOK_MAX_S, LOOK_SHARE * min(self._tuner.plan()))
        return max(1, int(wait_s / self._step_s))

    def started(self, step: int, persist: bool) -> None:
        self._tuner.save_started(time.monotonic_ns(), step, persist)

    def returned(self, step: int) -> None:
        self._tuner.save_returned(time.monotonic_ns(), step)

    def settled(self, step: int, durable: bool) -> None:
        settle = self._tuner.save_durable if durable else self._tuner.save_failed
        settle(time.monotonic_ns(), step)

    def memory(self) -> list[float]:
        return list(self._tuner.memory())
