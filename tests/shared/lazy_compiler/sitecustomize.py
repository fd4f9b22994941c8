"""On PYTHONPATH of trainers that compile nothing: torch's compiler is imported when it is used.

Torch imports it with the first optimizer, to tell it what to leave alone: half of the processor
time of a short training, and this suite starts hundreds. Here that telling waits. Whatever else
somebody asks of the compiler brings the real one."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

NAME = "torch._dynamo"


class LazyCompiler(types.ModuleType):
    """Answers what torch.optim asks while nothing is compiled."""

    made = False

    @staticmethod
    def disable(fn: Callable[..., Any], *_: Any, **__: Any) -> Callable[..., Any]:
        return fn

    @staticmethod
    def graph_break(*_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        waited = name == "__path__" and self.made  # by `import torch._dynamo.utils`
        if name.startswith("__") and not waited:
            raise AttributeError(name)
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
            vars(sys.modules["torch"]).pop("_dynamo", None)
        return getattr(importlib.import_module(NAME), name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The first one who looks gets the lazy one; the next, the real one."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != NAME:
            return None
        sys.meta_path.remove(self)
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return LazyCompiler(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.made = True  # type: ignore[attr-defined]


sys.meta_path.insert(0, Finder())
