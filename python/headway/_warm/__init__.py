"""Warm start: ranks forked from a process that has imported already.

`headway run` starts one Python with the ranks' own command line and HEADWAY_WARM_FD. Before the
interpreter reaches the script, sitecustomize hands over to `serve`, which imports what the script
is known to import and waits. For each rank it forks; in the rank `serve` returns, and the
interpreter goes on to the script exactly as in a plain start: same sys.path, same __main__, same
tracebacks.

    server     the waiting process and its talk with the agent (docs/formats/warm.md)
    preload    imports ahead, and finds out what must not be imported ahead
    scan       what a script that never ran will import, from its text
    memory     what earlier starts of the same script have taught
    compile_ahead  what torch.compile builds at its first use
    fitness    may this process be forked?
    become     from a forked copy to a rank
    learn      in a rank: tells the server what was imported up to the first step

Imported before any script: nothing here may pull in more than it needs.
"""

from __future__ import annotations

import os

FD_VARIABLE = "HEADWAY_WARM_FD"


class Birth:
    """How this process became a rank."""

    def __init__(self) -> None:
        self.warm = False
        self.imports_ahead = False  # they were done before anybody asked for this rank
        self.began_ns = 0  # CLOCK_MONOTONIC; 0: when the kernel made the process
        self.learn_fd = -1  # to the server; -1: it has nothing to learn from us
        self.learn_file = ""


birth = Birth()


def serve() -> None:
    """In the process that the agent started for it. Returns in ranks only."""
    from headway._warm.server import Server

    Server(int(os.environ[FD_VARIABLE])).run()
