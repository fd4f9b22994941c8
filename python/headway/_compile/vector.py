"""Which vector instructions can be compiled for: torch finds out by compiling and by starting a
Python that loads the result. Where that went well with this torch and this processor, the answer is
taken over; before the first code is generated it is checked, and taken back if it was wrong."""

from __future__ import annotations

import hashlib
from types import ModuleType
from typing import Any, NamedTuple

from headway._compile import before_codegen, facts

GOOD = b"1"


class _Trusted(NamedTuple):
    instructions: Any
    state: dict[
        str, Any
    ]  # of theirs: some are asked with flags that they have for that moment only
    code: str
    fact: str  # its name


_trusted: list[_Trusted] = []


def _processor() -> str:
    """As far as a compiler cares; that of the first is that of all."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("flags", "Features")):
                return line
    return ""


def _kinds(kind: type) -> list[type]:
    return [kind] + [below for each in kind.__subclasses__() for below in _kinds(each)]


def _forget_answers(module: ModuleType) -> None:
    """Each kind of instructions remembers its own, and what else it has learnt on the way."""
    for kind in _kinds(module.VecISA):
        for value in vars(kind).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
    for name in ("pick_vec_isa", "valid_vec_isa_list"):
        clear = getattr(getattr(module, name, None), "cache_clear", None)
        if clear is not None:
            clear()


def install(module: ModuleType) -> None:
    isa = module.VecISA
    check = isa.check_build
    isa.__dict__["_VecISA__bool__impl"].cache_clear  # noqa: B018 (is it there?)
    stamp = hashlib.sha256(_processor().encode())
    stamp.update(facts.torch_name().encode())

    def check_build(self: Any, code: str) -> bool:
        name = stamp.copy()
        name.update(f"{self}\n{self.build_arch_flags()}\n{code}".encode())
        fact = "isa-" + name.hexdigest()
        if facts.read(fact) == GOOD:
            _trusted.append(_Trusted(self, dict(vars(self)), code, fact))
            return True
        built = check(self, code)
        if built:
            facts.write(fact, GOOD)
        return bool(built)

    def is_right(one: _Trusted) -> bool:
        own = vars(one.instructions)
        now = dict(own)
        own.clear()
        own.update(one.state)
        try:
            return bool(check(one.instructions, one.code))
        finally:
            own.clear()
            own.update(now)

    def make_sure() -> None:
        wrong = [one for one in _trusted if not is_right(one)]
        for one in wrong:
            facts.forget(one.fact)
            for name in [name for name in vars(one.instructions) if name.startswith("_is_")]:
                delattr(one.instructions, name)
        if wrong:
            _forget_answers(module)

    isa.check_build = check_build
    before_codegen(make_sure)
