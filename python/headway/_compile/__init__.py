"""What a warm start of torch.compile can do without, under `headway run`.

With everything in the cache torch still builds a precompiled header of 150 MB, starts a Python to
try out the processor's vector instructions, and hashes its own 2,000 source files. Here that waits
until something has to be compiled, and then happens as ever. The keys of torch's caches stay what
they are: nothing here changes a setting, a command line or a name that they are made of.

    header     the precompiled header, when the C++ compiler is really run
    vector     which vector instructions can be compiled for, as found out before
    source_key the hash of torch's sources, kept as long as they are the same
    pool       compile workers, when there is something to compile
    facts      what was found out, in torch's cache directory, so that it travels with an archive

Each part asks whether torch looks as it is known to (2.13); where it does not, torch is left alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType

VARIABLE = "HEADWAY_WARM_COMPILE"

_codegen: list[Callable[[], None]] = []  # what is to be done before code is generated


def before_codegen(action: Callable[[], None]) -> None:
    _codegen.append(action)


def run_before_codegen() -> None:
    """A graph was not in the cache: from here on everything is as without us. Any thread."""
    while _codegen:
        try:
            _codegen.pop(0)()
        except IndexError:
            return  # another thread was first


def wanted() -> bool:
    return os.environ.get(VARIABLE) == "1"


def arm() -> None:
    """Before the script, in a rank. Costs microseconds until torch's compiler is imported."""
    if not wanted():
        return
    from headway._auto import post_import

    for name, part in PARTS.items():
        post_import.after(name, lambda module, part=part: _install(part, module))


def _install(part: str, module: ModuleType) -> None:
    import importlib

    if getattr(module, "_headway_compile", False):
        return  # in the process that this one was forked from
    try:
        importlib.import_module(f"headway._compile.{part}").install(module)
        module._headway_compile = True  # type: ignore[attr-defined]
    except Exception as error:
        if os.environ.get("HEADWAY_DEBUG"):
            print(f"headway: _compile.{part}: {error!r}", file=sys.stderr)


# In this order: a rank that was forked has all of them already.
PARTS = {
    "torch._inductor.cpp_builder": "header",
    "torch._inductor.cpu_vec_isa": "vector",
    "torch._inductor.codecache": "codecache",
    "torch._inductor.async_compile": "pool",
    "torch._inductor.compile_fx": "codegen",
}
