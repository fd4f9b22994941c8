"""Compile workers are processes that import torch: where all is in the cache they only take time
from the rank. They are started before the first code is generated."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from headway._compile import before_codegen


def install(module: ModuleType) -> None:
    compiler = module.AsyncCompile
    warm = module.maybe_warm_pool
    wakeup = compiler.__dict__["wakeup"]  # a classmethod
    asked: list[str] = []

    def warm_later() -> None:
        asked.append("warm")

    def wakeup_later(_cls: Any) -> None:
        asked.append("wakeup")

    def start() -> None:
        module.maybe_warm_pool = warm  # type: ignore[attr-defined]
        compiler.wakeup = wakeup
        if "warm" in asked:
            warm()
        if "wakeup" in asked:
            compiler.wakeup()

    module.maybe_warm_pool = warm_later  # type: ignore[attr-defined]
    compiler.wakeup = classmethod(wakeup_later)
    before_codegen(start)
