"""Sees that a graph was not in the cache, before its code is generated."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from headway._compile import run_before_codegen


def install(module: ModuleType) -> None:
    generate = module.fx_codegen_and_compile

    @functools.wraps(generate)
    def fx_codegen_and_compile(*args: Any, **kwargs: Any) -> Any:
        run_before_codegen()
        return generate(*args, **kwargs)

    module.fx_codegen_and_compile = fx_codegen_and_compile  # type: ignore[attr-defined]
