"""Runs real scripts with and without the hook and reads their journals back."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]


def find_package() -> Path:
    """The folder to put on PYTHONPATH: HEADWAY_PYTHON_DIR, or a build below the source."""
    if given := os.environ.get("HEADWAY_PYTHON_DIR"):
        return Path(given)
    built = list(ROOT.glob("build/python/headway/_core*.so"))
    built = built or list(ROOT.glob("build-*/python/headway/_core*.so"))
    if not built:
        raise pytest.UsageError(
            "no built _core: run `cmake --build build`, or set HEADWAY_PYTHON_DIR to <build>/python"
        )
    return max(built, key=lambda path: path.stat().st_mtime).parents[1]


PACKAGE = find_package()
sys.path.insert(0, str(PACKAGE))


class Row(NamedTuple):
    t_ns: int
    lane: int
    type: str
    name: str
    a: Any
    b: Any


class Journal:
    """A journal's rows and a few questions to them."""

    def __init__(self, path: Path) -> None:
        from headway import _core

        self.rows = [Row(*row) for row in _core.read_journal(str(path))]

    def of(self, type_: str, name: str | None = None) -> list[Row]:
        return [r for r in self.rows if r.type == type_ and name in (None, r.name)]

    def spans(self, name: str) -> list[tuple[int, int]]:
        """(begin, end) of every finished span; nested ones of one name do not occur."""
        begins = [r.t_ns for r in self.of("begin", name)]
        ends = [r.t_ns for r in self.of("end", name)]
        return list(zip(begins, ends, strict=False))

    def attrs(self) -> dict[str, str]:
        return {r.name: r.a for r in self.of("attr")}

    def step_ends(self) -> list[tuple[int, int | None]]:
        return [(r.a, r.b) for r in self.of("step_end")]

    def check_nesting(self) -> None:
        """Spans of a lane nest, nothing is left open, and time does not run backwards."""
        open_: dict[int, list[str]] = {}
        last: dict[int, int] = {}
        for row in self.rows:
            if row.type not in ("begin", "end", "step", "step_end"):
                continue
            assert row.t_ns >= last.get(row.lane, 0) - 1000, row
            last[row.lane] = row.t_ns
            stack = open_.setdefault(row.lane, [])
            if row.type == "begin":
                stack.append(row.name)
            elif row.type == "end":
                assert stack and stack[-1] == row.name, (row, stack)
                stack.pop()
        assert not any(open_.values()), open_


@dataclass
class Result:
    code: int
    out: str
    err: str
    folder: Path

    def journals(self) -> list[Path]:
        return sorted(self.folder.rglob("rank-*.hwj"))

    @property
    def journal(self) -> Journal:
        (path,) = self.journals()
        return Journal(path)


class Launcher:
    """Starts scripts the way `headway run` does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.attempt = 0

    def script(self, text: str, name: str = "train.py") -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def environment(self, hook: bool, state: Path) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("HEADWAY_", "PYTHON"))}
        env["TORCHINDUCTOR_CACHE_DIR"] = str(self.folder / "inductor")
        env["OMP_NUM_THREADS"] = "1"
        env["PYTHONPATH"] = str(PACKAGE)
        if hook:
            env["PYTHONPATH"] = f"{PACKAGE / 'headway' / '_hook'}:{PACKAGE}:{PACKAGE}"
            env["HEADWAY_DIR"] = str(state)
            env["HEADWAY_JOB"] = "job"
            env["HEADWAY_ATTEMPT"] = str(self.attempt)
        return env

    def run(
        self, *command: str | Path, hook: bool = True, env: dict[str, str] | None = None
    ) -> Result:
        """Runs python with `command`. Each run with the hook is the job's next attempt."""
        self.attempt += hook
        state = self.folder / "state"
        done = subprocess.run(
            [sys.executable, *map(str, command)],
            env={**self.environment(hook, state), **(env or {})},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr, state / "job" / str(self.attempt))

    def train(self, text: str, *args: str, **kwargs: Any) -> Result:
        result = self.run(self.script(text), *args, **kwargs)
        assert result.code == 0, result.err
        return result
