"""May this process be forked into a rank? What is asked here is what a copy would not survive."""

from __future__ import annotations

import os
import sys


def threads() -> int:
    """Of this process: a thread pool of OpenMP, autograd or gloo is seen here too."""
    return len(os.listdir("/proc/self/task"))


_harmless = 0  # threads of numpy's BLAS, which ends them itself before a fork


def allow_present_threads() -> None:
    """Those that run now survive a fork, by their own doing."""
    global _harmless
    _harmless = threads() - 1


def extra_threads() -> int:
    """That nobody has answered for."""
    global _harmless
    count = threads() - 1
    _harmless = min(_harmless, count)  # they do not come back by themselves
    return count - _harmless


def unfit() -> str:
    """Why not, or ''. A lock that another thread holds stays locked in the copy; a process group
    or an accelerator's context belongs to the process that opened it."""
    extra = extra_threads()
    if extra:
        return f"{extra} thread{'s' if extra > 1 else ''} running in the fork server"
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    if c10d is not None and c10d.is_initialized():
        return "a process group is open in the fork server"
    for backend in ("torch.cuda", "torch.xpu"):
        module = sys.modules.get(backend)
        if module is not None and module.is_initialized():
            return f"{backend} is initialised in the fork server"
    return ""
