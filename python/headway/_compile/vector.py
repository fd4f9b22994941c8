"""Which vector instructions can be compiled for: torch finds out by compiling and by starting a
Python that loads the result. Where that went well with this torch and this processor, the answer is
taken over; before the first code is generated it is checked, and taken back if it was wrong."""

from __future__ import annotations

import hashlib
from types import ModuleType
from typing import Any

from headway._compile import before_codegen, facts

GOOD = b"1"
_trusted: list[tuple[Any, str, str]] = []  # (instructions, code, name of the fact)


def _processor() -> str:
    """As far as a compiler cares; that of the first is that of all."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("flags", "Features")):
                return line
    return ""


def install(module: ModuleType) -> None:
    isa = module.VecISA
    check = isa.check_build
    answers = isa.__dict__["_VecISA__bool__impl"]
    answers.cache_clear  # noqa: B018 (is it there?)
    stamp = hashlib.sha256(_processor().encode())
    stamp.update(facts.torch_name().encode())

    def check_build(self: Any, code: str) -> bool:
        name = stamp.copy()
        name.update(f"{self}\n{self.build_arch_flags()}\n{code}".encode())
        fact = "isa-" + name.hexdigest()
        if facts.read(fact) == GOOD:
            _trusted.append((self, code, fact))
            return True
        built = check(self, code)
        if built:
            facts.write(fact, GOOD)
        return bool(built)

    def make_sure() -> None:
        wrong = False
        for instructions, code, fact in _trusted:
            if not check(instructions, code):
                facts.forget(fact)
                wrong = True
        if wrong:
            answers.cache_clear()
            for name in ("pick_vec_isa", "valid_vec_isa_list"):
                clear = getattr(getattr(module, name, None), "cache_clear", None)
                if clear is not None:
                    clear()

    isa.check_build = check_build
    before_codegen(make_sure)
