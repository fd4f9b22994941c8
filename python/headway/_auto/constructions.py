"""Watches the construction of a family of classes: a base and everything derived from it, now or
later. Each class's own __init__ gets an Around, until `unwatch` puts the originals back. Only the
outermost construction of a kind becomes a span; nested ones cost a tenth of a microsecond."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from headway._recorder import core

CLASSES_MAX = 20_000  # beyond this, further classes are not watched

Enter = Callable[[Any], Any]
Leave = Callable[[Any, Any, Any], None]


def family(base: type) -> Iterator[type]:
    """The base and all classes derived from it, each once."""
    seen = {base}
    todo = [base]
    while todo:
        cls = todo.pop()
        yield cls
        for derived in type.__subclasses__(cls):
            if derived not in seen:
                seen.add(derived)
                todo.append(derived)


class Constructions:
    """Training thread only."""

    def __init__(self) -> None:
        self._classes: list[weakref.ref[type]] = []
        self._bases: list[type] = []
        self._families: list[tuple[type, Enter, Leave]] = []
        self._places: list[tuple[Any, str, Enter, Leave]] = []

    def watch(self, base: type, enter: Enter, leave: Leave) -> None:
        self._families.append((base, enter, leave))
        self._watch_family(base, enter, leave)

    def watch_function(self, owner: Any, name: str, enter: Enter, leave: Leave) -> None:
        """A method of a class or a function of a module, watched as long as constructions are."""
        self._places.append((owner, name, enter, leave))
        self._put(owner, name, core.Around(vars(owner)[name], enter, leave, global_name=True))

    @staticmethod
    def _put(owner: Any, name: str, value: Any) -> None:
        if isinstance(owner, type):
            type.__setattr__(owner, name, value)
        else:
            setattr(owner, name, value)

    def _watch_family(self, base: type, enter: Enter, leave: Leave) -> None:
        for cls in list(family(base)):
            self._wrap(cls, enter, leave)
        if "__init_subclass__" in vars(base):
            return  # the class has plans of its own for what derives from it

        def derived(cls: type) -> type:
            return cls

        def made(cls: type, _result: object, error: object) -> None:
            if error is None:
                self._wrap(cls, enter, leave)

        chain = core.Around(core.inherited_init_subclass(base), derived, made, any_thread=True)
        type.__setattr__(base, "__init_subclass__", classmethod(chain))
        self._bases.append(base)

    def _wrap(self, cls: type, enter: Enter, leave: Leave) -> None:
        init = vars(cls).get("__init__")
        if type(init) is not types.FunctionType or len(self._classes) >= CLASSES_MAX:
            return
        type.__setattr__(cls, "__init__", core.Around(init, enter, leave))
        self._classes.append(weakref.ref(cls))

    def unwatch(self) -> None:
        """Every class as it was."""
        for owner, name, _, _ in self._places:
            function = vars(owner).get(name)
            if type(function) is core.Around:
                self._put(owner, name, function.__wrapped__)
        for base in self._bases:
            if "__init_subclass__" in vars(base):
                type.__delattr__(base, "__init_subclass__")
        self._bases.clear()
        for reference in self._classes:
            cls = reference()
            init = vars(cls).get("__init__") if cls is not None else None
            if cls is not None and type(init) is core.Around:
                type.__setattr__(cls, "__init__", init.__wrapped__)
        self._classes.clear()

    def rewatch(self) -> None:
        """After `unwatch`: everything again."""
        for base, enter, leave in self._families:
            self._watch_family(base, enter, leave)
        places, self._places = self._places, []
        for owner, name, enter, leave in places:
            self.watch_function(owner, name, enter, leave)


constructions = Constructions()
