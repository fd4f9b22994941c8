"""Compiles something tiny in the fork server, so that the tables that torch.compile builds at its
first use are there in every rank that is forked later: a seventh of what a warm compilation takes.

Only where an earlier start of the script has compiled, and with nothing that a fork would not
survive: one thread, no workers, no C++ compiler, no code that is kept. Everything that could be
seen of it afterwards is put back."""

from __future__ import annotations

import os
import sys
from typing import Any

SIGN = "torch._inductor.compile_fx"  # among what the last start had imported: it compiled
SKIP = "torch.compile ahead"  # in the memory's list of what must not be done ahead
# Where a compilation leaves more behind than code.
LOUD = (
    "TORCH_TRACE",
    "TORCH_LOGS",
    "TORCH_COMPILE_DEBUG",
    "TORCH_COMPILE_JOB_ID",
    "TORCHDYNAMO_DISABLE",
)


def wanted(modules: list[str]) -> bool:
    """A log or a profile of compilations is to show those of the ranks."""
    return SIGN in modules and not any(os.environ.get(name) for name in LOUD)


def run() -> None:
    """Whatever goes wrong, the ranks compile as they would have."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    try:
        _compile(torch)
    except Exception:
        pass


def _compile(torch: Any) -> None:
    dynamo = torch._dynamo
    bar = torch.hub.tqdm  # with the real one, a bar starts a thread that watches all bars
    interval = getattr(bar, "monitor_interval", None)
    threads = torch.get_num_threads()
    random = torch.get_rng_state()
    torch.set_num_threads(1)
    if interval is not None:
        bar.monitor_interval = 0
    try:
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        optimizer = torch.optim.Adam(model.parameters())
        torch.compile(model, backend="aot_eager")(torch.zeros(2, 2)).sum().backward()
        torch.compile(optimizer.step, backend="aot_eager")()
        torch._inductor.codecache.torch_key()
    finally:
        dynamo.reset()  # numbers of frames, too
        dynamo.utils.counters.clear()
        dynamo.utils.compilation_time_metrics.clear()
        torch.set_num_threads(threads)
        if interval is not None:
            bar.monitor_interval = interval
        torch.set_rng_state(random)
