"""Around stands in for a function and cannot be told from it."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
import traceback
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from headway import _core

calls: list[Any] = []


def plain(a: int, b: int = 2, *rest: int, key: str = "k") -> tuple[Any, ...]:
    """What plain does."""
    return (a, b, rest, key)


original_plain = plain


def enter(first: Any) -> str:
    calls.append(("enter", first))
    return "token"


def leave(token: str, result: Any, error: Any) -> None:
    calls.append(("leave", token, result, error))


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    calls.clear()
    _core.hook_thread()
    _core.hook_enable(True)
    yield
    _core.hook_enable(False)


def test_it_calls_around_the_original() -> None:
    around = _core.Around(plain, enter, leave)
    assert around(1, 5, 6, key="x") == (1, 5, (6,), "x")
    assert calls == [("enter", 1), ("leave", "token", (1, 5, (6,), "x"), None)]


def test_it_looks_like_the_original() -> None:
    around = _core.Around(plain, enter, leave)
    assert inspect.signature(around) == inspect.signature(plain)
    assert inspect.getsource(around) == inspect.getsource(plain)
    assert isinstance(around, types.FunctionType)
    assert repr(around) == repr(plain)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__code__"):
        assert getattr(around, name) == getattr(plain, name)
    around.flag = 3
    assert plain.flag == 3  # type: ignore[attr-defined]


def test_it_binds_like_a_method() -> None:
    class Thing:
        def __init__(self, x: int) -> None:
            self.x = x

        def get(self) -> int:
            return self.x

    Thing.__init__ = _core.Around(Thing.__init__, enter, leave)  # type: ignore[method-assign]
    Thing.get = _core.Around(Thing.get, enter, leave)  # type: ignore[method-assign]
    thing = Thing(4)
    assert thing.get() == 4 and thing.get.__self__ is thing
    assert list(inspect.signature(Thing).parameters) == ["x"]
    assert [c[0] for c in calls] == ["enter", "leave"] * 2


def test_it_leaves_no_frame_in_tracebacks_or_warnings() -> None:
    def fail() -> None:
        raise KeyError("x")

    def warn() -> None:
        warnings.warn("look", stacklevel=2)

    with pytest.raises(KeyError) as caught:
        _core.Around(fail, enter, leave)()
    assert [f.name for f in traceback.extract_tb(caught.tb)][1:] == ["fail"]
    assert calls[-1] == ("leave", "token", None, KeyError)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _core.Around(warn, enter, leave)()
    assert seen[0].filename == __file__


def test_pickle_and_copy() -> None:
    module = sys.modules[__name__]
    around = _core.Around(plain, enter, leave, global_name=True)
    module.plain = around  # type: ignore[attr-defined]
    try:
        assert pickle.loads(pickle.dumps(around)) is around
        assert copy.deepcopy(around) is around
    finally:
        module.plain = original_plain  # type: ignore[attr-defined]
    by_value = _core.Around(plain, enter, leave)
    assert pickle.loads(pickle.dumps(by_value)) is plain


def test_a_failing_callback_turns_the_hook_off_and_nothing_else() -> None:
    reports = []
    _core.hook_report(lambda kind, error: reports.append((kind, str(error))))

    def bad(*_: Any) -> str:
        raise RuntimeError("ours")

    assert _core.Around(plain, bad, leave)(1) == (1, 2, (), "k")
    assert reports == [(RuntimeError, "ours")] and not _core.hook_enabled()
    _core.hook_enable(True)
    assert _core.Around(plain, enter, bad)(1) == (1, 2, (), "k")
    assert len(reports) == 2 and not _core.hook_enabled()
    calls.clear()
    assert _core.Around(plain, enter, leave)(1) == (1, 2, (), "k") and calls == []


def test_other_threads_pass_through() -> None:
    import threading

    around = _core.Around(plain, enter, leave)
    thread = threading.Thread(target=around, args=(1,))
    thread.start()
    thread.join()
    assert calls == []
