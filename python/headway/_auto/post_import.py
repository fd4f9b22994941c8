"""Acts before or after a module's first import, without importing it ourselves.

A finder at the head of sys.meta_path knows a handful of names and answers None for all others. For
those it asks the other finders and puts an Around on the loader's exec_module, taken off again
when the module is there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from headway._recorder import core

_before: dict[str, Callable[[], Any]] = {}
_after: dict[str, list[Callable[[ModuleType], None]]] = {}


def before(name: str, action: Callable[[], Any]) -> None:
    """Calls action() when the code of `name` is about to run."""
    _install()
    _before[name] = action


def after(name: str, action: Callable[[ModuleType], None]) -> None:
    """Calls action(module) once `name` is imported; now, if it is already. Several may wait."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    _install()
    _after.setdefault(name, []).append(action)


class _Finder:
    """Stands in front of the real finders and finds nothing itself."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> Any:
        if name not in _after and name not in _before:
            return None
        return _watch(name, self._real_spec(name, path, target))

    def _real_spec(self, name: str, path: Any, target: Any) -> Any:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                return spec
        return None


def _watch(name: str, spec: Any) -> Any:
    """Looking for a module is not importing it: the actions wait until its code runs."""
    loader = getattr(spec, "loader", None)
    if loader is None or not hasattr(loader, "exec_module") or not hasattr(loader, "__dict__"):
        return spec

    def enter(module: ModuleType) -> ModuleType:
        action = _before.pop(name, None)
        if action is not None:
            action()
        return module

    def leave(module: ModuleType, _result: object, error: type[BaseException] | None) -> None:
        del loader.exec_module
        if error is None:
            for action in _after.pop(name, []):
                action(module)

    loader.exec_module = core.Around(loader.exec_module, enter, leave, any_thread=True)
    return spec


_finder = _Finder()


def _install() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
