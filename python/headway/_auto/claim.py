"""Is this process a rank of the job?

A process claims its rank when it imports torch, calls headway.init(), or dies of an exception.
Until then it only watches, so that shells' helpers, `pip` or a launcher written in Python cost
microseconds and leave no journal. The claim is HEADWAY_RANK_PID: children that inherit it are not
ranks. Launchers that import torch themselves (torchrun and the like) never claim; their workers,
which do not inherit a claim, do. What a launcher knows of them, `elastic` records.
"""

from __future__ import annotations

import atexit
import os
import sys
import time

from headway import _compile
from headway import _recorder as rec
from headway._auto import elastic, failure, post_import, stacks
from headway._auto.session import session
from headway._auto.stages import stages
from headway._recorder import core
from headway._warm import birth, learn

LAUNCHER_MODULES = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.launcher",
    "torch._inductor.compile_worker",
    "accelerate.commands",
    "deepspeed.launcher",
    "pip",
    "ensurepip",
    "venv",
)
LAUNCHER_SCRIPTS = ("torchrun", "accelerate", "deepspeed", "pip", "pip3", "tlparse", "tensorboard")


def is_launcher(argv: list[str]) -> bool:
    """Whether a command line (sys.orig_argv) starts something that starts the ranks."""
    words = iter(argv[1:])
    for word in words:
        if word == "-m" or (word.startswith("-m") and len(word) > 2):
            module = word[2:] or next(words, "")
            return any(module == m or module.startswith(m + ".") for m in LAUNCHER_MODULES)
        if word == "-c":
            return False
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            next(words, None)
        elif not word.startswith("-"):
            return os.path.basename(word) in LAUNCHER_SCRIPTS
    return False


def process_start_monotonic_ns() -> int:
    """When the kernel started this process, to a clock tick (10 ms)."""
    now = time.monotonic_ns()
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        since_boot_ns = int(fields[19]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        suspended_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - now
        return min(now, since_boot_ns - suspended_ns)
    except (OSError, ValueError, IndexError):
        return now


_armed_pid = 0


def arm() -> str:
    """Waits for the process to prove itself a rank. Returns why it cannot, or ''."""
    global _armed_pid
    _armed_pid = os.getpid()
    if rec.load_error:
        return rec.load_error
    core.hook_thread()
    core.hook_report(session.callback_failed)
    core.hook_enable(True)
    if is_launcher(sys.orig_argv):
        elastic.arm()
        return ""
    core.import_clock_start()
    failure.install(claim)
    session.run.claim = claim
    atexit.register(_at_exit)
    _compile.arm()
    if birth.warm and "torch" in sys.modules:  # forked as a rank, with torch in it
        claim()
    post_import.before("torch", claim)
    post_import.after("torch", _patch_torch)
    if birth.learn_fd >= 0:
        stages.on_over.append(learn.tell)
    return ""


def claim() -> bool:
    """Opens the journal and records what happened since the interpreter's start. Idempotent."""
    if session.on:
        return True
    if session.pid or os.getpid() != _armed_pid:  # stopped since, or a forked child
        return False
    already = core.active()
    error = 0 if already else core.init()
    if error:
        session.pid = os.getpid()
        session.stop(
            f"cannot open a journal below {os.environ.get('HEADWAY_DIR', 'HEADWAY_DIR')}: "
            f"{os.strerror(error)}",
            "this process",
        )
        return False
    os.environ["HEADWAY_RANK_PID"] = str(os.getpid())
    session.begin()
    start = core.ticks_from_monotonic_ns(birth.began_ns or process_start_monotonic_ns())
    core.mark_at(rec.MARKS["trainer_start"], start)
    stages.begin_imports(start)
    if not already and "HEADWAY_ATTEMPT" in os.environ:
        stacks.install()
    return True


def _patch_torch(module: object) -> None:
    if session.on:
        from headway._auto import torch_patch

        torch_patch.install(module)


def _at_exit() -> None:
    if session.on and session.pid == os.getpid():
        for finish in session.at_exit:
            finish()
        failure.record_unseen()
        stages.finish()
        session.flush()
        session.on = False
        core.hook_enable(False)
        core.shutdown()
