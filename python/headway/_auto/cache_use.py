"""What torch's compile caches were worth to this process: graphs found and not found, runs of the
C++ compiler, and the time that torch noted when what was found had been compiled. Told as one
attribute of each rank, after the first step and at the end."""

from __future__ import annotations

import os

from headway._recorder import core

KEY = "compile_cache."  # and the rank


class CacheUse:
    """Dynamo compiles one thing at a time."""

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0
        self.bypasses = 0
        self.builds = 0
        self.original_ns = 0  # of compilations that were wholly found
        self.spent_ns = 0  # on the same ones, now
        self.noted_graphs_ns = 0  # of the compilation that runs, by both caches of torch
        self.noted_joint_ns = 0
        self.told = ""

    def note_graph(self, args: tuple[int, ...], _kwargs: object) -> None:
        """Inductor's cache had a graph. Any thread."""
        self.noted_graphs_ns += args[0] if args else 0

    def note_joint(self, args: tuple[int, ...], _kwargs: object) -> None:
        """AOTAutograd's had forward and backward: their graphs are noted as well."""
        self.noted_joint_ns += args[0] if args else 0

    def begin(self) -> None:
        self.noted_graphs_ns = self.noted_joint_ns = 0

    def end(self, hits: int, misses: int, bypasses: int, builds: int, took_ns: int) -> None:
        """Of one compilation; a script may have cleared torch's counters in it."""
        self.hits += max(hits, 0)
        self.misses += max(misses, 0)
        self.bypasses += max(bypasses, 0)
        self.builds += max(builds, 0)
        if hits > 0 and misses <= 0 and bypasses <= 0 and builds <= 0:
            self.original_ns += max(self.noted_joint_ns, self.noted_graphs_ns)
            self.spent_ns += took_ns

    def record(self) -> None:
        if not self.hits + self.misses + self.bypasses:
            return
        text = (
            f"hits={self.hits} misses={self.misses} bypasses={self.bypasses} builds={self.builds} "
            f"original_ms={self.original_ns // 1_000_000} spent_ms={self.spent_ns // 1_000_000}"
        )
        if text != self.told:
            self.told = text
            core.attr(KEY + os.environ.get("RANK", "0"), text)


cache_use = CacheUse()
