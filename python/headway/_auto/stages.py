"""The stages of start-up: what is open, and when start-up is over.

`imports` lasts from the interpreter's start to the end of the last outermost import before the
first other stage. An import that a stage triggers belongs to that stage; a stage that an import
triggers (a library that builds a module at import time) belongs to `imports`, except for what only
a running program does (`strong`). Stages nest; a stage inside itself is one. What is left between
the last stage and the first batch is `pre_train`.
"""

from __future__ import annotations

from collections.abc import Callable

from headway import _recorder as rec
from headway._auto.session import session
from headway._recorder import core
from headway._warm import birth

TOP_IMPORTS = 3
IMPORT_MIN_NS = 10_000_000  # what is not worth a line
NS_PER_S = 1e9
NAMES = {
    rec.DEVICE_INIT: "device_init",
    rec.PROCESS_GROUP_INIT: "process_group_init",
    rec.PREPROC_CREATION: "preproc_creation",
    rec.TRAIN_MODULE_CREATION: "train_module_creation",
    rec.INIT_PLUGINS: "init_plugins",
}


class Stages:
    """Training thread only."""

    def __init__(self) -> None:
        self.open = False  # start-up lasts
        self.suspended = False  # a compilation runs: what it constructs is its own
        self.imports_open = False
        self.stack: list[int] = []
        self.imports_begin = 0
        self.late_imports: dict[int, tuple[str, int]] = {}  # phase: its longest import
        self.on_over: list[Callable[[], None]] = []

    def begin_imports(self, ticks: int) -> None:
        self.open = self.imports_open = True
        self.imports_begin = session.last_tick = ticks
        core.begin_at(rec.IMPORTS, ticks)
        core.starting(True)
        session.run.before_first_batch = self.first_batch_asked

    def end_imports(self) -> None:
        """Ends `imports` where the last outermost import ended."""
        if not self.imports_open:
            return
        self.imports_open = False
        depth = core.import_clock_depth()
        last_ns, packages = core.import_clock_result()
        ticks = core.now() if depth or not last_ns else core.ticks_from_monotonic_ns(last_ns)
        ticks = max(ticks, self.imports_begin)
        core.end_at(rec.IMPORTS, ticks)
        session.last_tick = ticks
        if birth.imports_ahead:
            return
        worth = [item for item in packages.items() if item[1] >= IMPORT_MIN_NS]
        largest = sorted(worth, key=lambda item: -item[1])[:TOP_IMPORTS]
        for place, (package, ns) in enumerate(largest, 1):
            core.attr(f"import_top{place}", f"{package} {ns / NS_PER_S:.2f}s")

    def enter(self, phase: int, strong: bool = False) -> int | None:
        """Begins a stage; None when there is nothing to end."""
        stack = self.stack
        if stack and stack[-1] == phase:
            return None
        if not self.open or self.suspended:
            return None
        if self.imports_open:
            if not strong and core.import_clock_depth():
                return None
            self.end_imports()
        if stack or not session.resume_held(phase, core.now()):
            session.flush()
            core.begin(phase)
        stack.append(phase)
        return phase

    def leave(self, phase: int, _result: object = None, _error: object = None) -> None:
        """Ends what `enter` began, and whatever was left open inside it."""
        stack = self.stack
        if phase not in stack:
            return
        while stack:
            inner = stack.pop()
            if stack or inner != phase:
                core.end(inner)
            else:
                session.hold_end(inner, core.now())
            if inner == phase:
                break
        session.last_tick = core.now()
        if not stack:
            self._note_imports(phase)

    def _note_imports(self, phase: int) -> None:
        """What a stage imported: torch brings its compiler in with the first DDP or Adam."""
        for module, ns in core.import_clock_late():
            name, most = self.late_imports.get(phase, ("", 0))
            if ns > most:
                name, most = module, ns
            self.late_imports[phase] = (name, most)

    def first_batch_asked(self) -> None:
        """The training loop begins: what is left is pre_train."""
        if not self.open:
            return
        self.end_imports()
        session.flush()
        now = core.now()
        since = max(session.last_tick, core.span_ended())  # restore() is no stage of the hook
        if now - since > session.ticks_per_ms:
            core.begin_at(rec.PRE_TRAIN, since)
            core.end_at(rec.PRE_TRAIN, now)

    def over(self) -> None:
        """Start-up is over: nothing is watched any more that only start-up needs."""
        if not self.open:
            return
        self.end_imports()
        session.flush()
        self._tell_late_imports()
        self.open = False
        core.starting(False)
        for action in self.on_over:
            action()
        self.on_over.clear()

    def finish(self) -> None:
        """At exit, wherever start-up got to."""
        if self.open:
            self.end_imports()
            self._tell_late_imports()

    def _tell_late_imports(self) -> None:
        core.import_clock_stop()
        for phase, (module, ns) in self.late_imports.items():
            core.attr(f"import_in_{NAMES.get(phase, phase)}", f"{module} {ns / NS_PER_S:.2f}s")


stages = Stages()
