"""The precompiled header: built when the C++ compiler is run, not when a library is looked up.

CppCodeCache asks for the header before it knows whether the library is there. It gets a promise, an
empty name, which leaves the builder without a header; when the builder is really to build, the
promise is kept and the command line is what it would have been."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

_lock = threading.Lock()
_builder_ready = False


class _Promise(str):
    make: Callable[[], str]


def install(module: ModuleType) -> None:
    """In torch._inductor.cpp_builder."""
    global _builder_ready
    builder = module.CppBuilder
    build = builder.build
    if "_build_option" not in builder.__init__.__code__.co_names:
        return
    if "_include_dirs_args" not in builder.__init__.__code__.co_names:
        return

    def build_with_header(self: Any) -> Any:
        promise = getattr(self._build_option, "precompiled_header", None)
        if isinstance(promise, _Promise):
            with _lock:  # torch makes one header after the other, too
                path = promise.make()
            self._build_option.precompiled_header = path
            self._include_dirs_args = f"-include {path} " + self._include_dirs_args
        return build(self)

    builder.build = build_with_header
    _builder_ready = True


def install_lazy(module: ModuleType) -> None:
    """In torch._inductor.codecache, which has imported the builder."""
    if not _builder_ready:
        return
    precompile = module._precompile_header
    if "load_async" not in module.CppCodeCache.__dict__:
        return

    def precompile_later(header: str, command: str, **options: Any) -> str:
        if sys._getframe(1).f_code.co_name != "load_async":
            return precompile(header, command, **options)
        promise = _Promise()
        promise.make = lambda: precompile(header, command, **options)
        return promise

    module._precompile_header = precompile_later  # type: ignore[attr-defined]
