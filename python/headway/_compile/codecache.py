"""The parts that lie in torch._inductor.codecache."""

from __future__ import annotations

from types import ModuleType

from headway._compile import header, source_key


def install(module: ModuleType) -> None:
    for part in (header.install_lazy, source_key.install):
        try:
            part(module)
        except (AttributeError, TypeError, ValueError):
            continue  # another torch
