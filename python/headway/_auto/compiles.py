"""torch.compile: a `compile` span for every compilation, from Dynamo's callbacks.

Dynamo calls back when the first of possibly nested compilations begins and when the last has ended,
on whichever thread compiles. The methods that run its callbacks are watched, not registered with:
torch._dynamo.reset() clears the registered ones. A lazily compiled backward may run on an autograd
thread while the training thread waits for it: its time is lane 0's all the same.

Warm means that inductor found everything in its caches: at least one hit, no miss, and no run of
the C++ compiler, which a graph found in the cache may still need for its kernels. (AOTAutograd's
own cache stands aside under DDP; what it would have spared is small beside code generation.)"""

from __future__ import annotations

import sys
import threading
import time
from types import ModuleType
from typing import Any

from headway import _recorder as rec
from headway._auto.cache_use import cache_use
from headway._auto.constructions import constructions
from headway._auto.session import session
from headway._auto.stages import stages
from headway._recorder import core

HITS = (("inductor", "fxgraph_cache_hit"), ("aot_autograd", "autograd_cache_hit"))
MISSES = (("inductor", "fxgraph_cache_miss"), ("inductor", "fxgraph_cache_bypass"))
GRAPHS = tuple((("inductor", f"fxgraph_cache_{word}"),) for word in ("hit", "miss", "bypass"))


def _count(names: tuple[tuple[str, str], ...]) -> int:
    utils = sys.modules.get("torch._dynamo.utils")
    counters: Any = getattr(utils, "counters", None) or {}
    return sum(counters.get(group, {}).get(name, 0) for group, name in names)


class Compiles:
    """Dynamo's own lock keeps begin and end apart; at most one compilation is open."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.begin_ticks = 0
        self.hits = 0
        self.misses = 0
        self.builds = 0  # runs of the C++ compiler, and those before this compilation
        self.builds_before = 0
        self.graphs = [0, 0, 0]  # found, not found, not looked for
        self.began_ns = 0
        self.plain_tell: Any = None

    def install(self, module: ModuleType) -> None:
        handler = module.CompilationCallbackHandler
        handler.run_start_callbacks = core.Around(
            handler.run_start_callbacks, self.begin, any_thread=True
        )
        handler.run_end_callbacks = core.Around(
            handler.run_end_callbacks, self.end, any_thread=True
        )

    def watch_builds(self, module: ModuleType) -> None:
        """Where torch has no such function, a build does not make a compilation cold."""
        build = getattr(module, "run_compile_cmd", None)
        if build is not None:
            around = core.Around(
                build, self.built, whole_call=True, any_thread=True, global_name=True
            )
            module.run_compile_cmd = around  # type: ignore[attr-defined]

    def watch_saved(self, module: ModuleType) -> None:
        """Both caches of torch tell this function how long what they found took to compile."""
        name = "add_ephemeral_timeout_increase_for_distributed"
        joint = module.__name__.endswith("autograd_cache")
        note = cache_use.note_joint if joint else cache_use.note_graph
        tell = getattr(module, name, None)
        if joint and self.plain_tell is not None:
            tell = self.plain_tell  # it has imported the other one's, watched already
        elif not joint:
            self.plain_tell = tell
        if tell is not None:
            around = core.Around(tell, note, whole_call=True, any_thread=True, global_name=True)
            setattr(module, name, around)

    def built(self, args: Any, kwargs: Any) -> None:
        """Any thread. Every start preprocesses a header (-E), to look it up by what it says."""
        command = args[0] if args else kwargs.get("cmd_line", "")
        if " -E " not in command:
            self.builds += 1

    def begin(self, _handler: Any) -> None:
        if not session.on:
            return
        if stages.open:
            stages.suspended = True
            constructions.unwatch()  # Dynamo may trace a constructor, and must see the real one
        self.hits, self.misses = _count(HITS), _count(MISSES)
        self.builds_before = self.builds
        self.graphs = [_count(names) for names in GRAPHS]
        self.began_ns = time.monotonic_ns()
        cache_use.begin()
        if threading.get_ident() == self.thread:
            stages.end_imports()
            session.flush()
            core.begin(rec.COMPILE)
        else:
            self.begin_ticks = core.now()

    def end(self, _handler: Any) -> None:
        if not session.on:
            return
        if stages.open:
            stages.suspended = False
            if not session.run.first_batch:
                constructions.rewatch()
        hits, misses, bypasses = (
            _count(names) - before for names, before in zip(GRAPHS, self.graphs, strict=True)
        )
        builds = self.builds - self.builds_before
        cache_use.end(hits, misses, bypasses, builds, time.monotonic_ns() - self.began_ns)
        if threading.get_ident() != self.thread:
            session.late_compile(self.begin_ticks, core.now())
            return
        found = _count(HITS) > self.hits and _count(MISSES) == self.misses
        warm = found and self.builds == self.builds_before
        core.end_compile(warm)
        session.last_tick = core.now()


compiles = Compiles()
