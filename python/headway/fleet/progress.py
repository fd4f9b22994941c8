"""How far Spark is, for a person: on a terminal one line that is drawn over itself, else a line now
and then. Reads Spark's own count of tasks; a thread of its own."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

DRAW_S = 0.2
LINE_S = 15.0  # where there is no terminal
FIRST_S = 1.0


class Step:
    """`with Step(context, "attributing 12 jobs", timings_s, "attribute"):` around something that
    Spark does; how long it took is kept in `timings_s`."""

    def __init__(self, context: Any, label: str, timings_s: dict[str, float], name: str) -> None:
        self._tracker = context.statusTracker()
        self._label = label
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._terminal = sys.stderr.isatty()
        self._drawn = False
        self._timings_s = timings_s
        self._name = name
        self._began_s = time.monotonic()

    def __enter__(self) -> Step:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        self._timings_s[self._name] = round(time.monotonic() - self._began_s, 3)
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _watch(self) -> None:
        said_s = time.monotonic()
        while not self._over.wait(DRAW_S):
            now_s = time.monotonic()
            if now_s - self._began_s < FIRST_S:
                continue
            if self._terminal:
                print(f"\r\x1b[K{self._text()}", end="", file=sys.stderr, flush=True)
                self._drawn = True
            elif now_s - said_s >= LINE_S:
                print(f"headway: {self._text()}", file=sys.stderr, flush=True)
                said_s = now_s

    def _text(self) -> str:
        done = total = 0
        for stage in self._tracker.getActiveStageIds():
            info = self._tracker.getStageInfo(stage)
            if info is not None:
                done += info.numCompletedTasks
                total += info.numTasks
        seconds = time.monotonic() - self._began_s
        return f"{self._label}: {done} of {total} tasks, {seconds:.0f} s"
