"""Lets the agent ask this rank where it stands: on a signal, faulthandler writes the stacks of all
threads into the attempt's folder, whatever the training thread is stuck in."""

from __future__ import annotations

import faulthandler
import os
import signal

from headway._recorder import core

SIGNAL = signal.SIGRTMIN + 10  # src/agent/stacks.cc sends it

_file = None  # open as long as the process lives


def install() -> None:
    global _file
    folder = os.path.dirname(core.journal_path())
    rank = os.environ.get("RANK", "0")
    if not folder or signal.getsignal(SIGNAL) != signal.SIG_DFL:
        return
    try:
        _file = open(os.path.join(folder, f"stacks-{rank}.txt"), "a", encoding="utf-8")  # noqa: SIM115
        faulthandler.register(SIGNAL, file=_file, all_threads=True, chain=False)
    except (OSError, ValueError, RuntimeError, AttributeError):
        _file = None
