"""Imports ahead, and finds out what must not be imported ahead.

A module that asks for its rank while it is imported, or that starts a thread, gives another result
in a fork server than in a rank. It is found by watching: reads of the variables that tell ranks
apart, and the threads of this process. Its package is put on the list of those to skip, and the
caller begins again with a clean process, because the damage is done.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
import sysconfig
from typing import Any

from headway._warm import fitness

IDENTITY_VARIABLE = "HEADWAY_WARM_IDENTITY"
# What differs between the ranks of one start, or between two starts: the agent, who sets it, knows.
IDENTITY = frozenset(os.environ.get(IDENTITY_VARIABLE, "").split(","))
# Known to keep nothing of what they read at import.
TRUSTED = frozenset(("torch", "numpy", "headway"))
REASON_CHARACTERS_MAX = 300
READERS = frozenset(("os", "_collections_abc", "headway"))  # on the way from the asker to us


class Taint(Exception):
    """This process can no longer be the fork server: begin again without `packages`."""

    def __init__(self, packages: dict[str, str]) -> None:
        super().__init__(str(packages))
        self.packages = packages


class _WatchedEnviron(os._Environ):  # type: ignore[type-arg]
    """os.environ while modules are imported ahead."""

    def __getitem__(self, key: str) -> str:
        if key in IDENTITY:
            _asked(key)
        return super().__getitem__(key)


_askers: dict[str, str] = {}


def _asked(key: str) -> None:
    frame = sys._getframe(2)
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in READERS:
            if package not in TRUSTED:
                _askers.setdefault(package, f"asks for {key} while it is imported")
            return
        frame = frame.f_back  # type: ignore[assignment]


class Preloader:
    def __init__(self, skip: dict[str, str], folder: str) -> None:
        self.skip = skip
        self.folder = folder
        self.local: dict[str, bool] = {}  # packages, by whether they lie beside the script
        self.files: dict[str, tuple[int, int]] = {}  # of the user's own modules, as imported
        self.failed: dict[str, str] = {}  # what could not be imported, by why
        self.seeded: dict[str, Any] = {}  # generators that a module of the user's has seeded

    def load(self, names: list[str]) -> None:
        """Raises Taint. What cannot be imported is left to the script, and noted."""
        plain = sys.path[:]
        if not getattr(sys.flags, "safe_path", False):
            sys.path.insert(0, self.folder)
        environ = os.environ.__class__
        os.environ.__class__ = _WatchedEnviron
        try:
            if "torch" in names or "numpy" in names:
                self._import_numpy()
            for name in sorted(names, key=self._is_local):  # installed ones first
                if name not in sys.modules and name.partition(".")[0] not in self.skip:
                    self._import(name)
        finally:
            os.environ.__class__ = environ
            sys.path[:] = plain
        self._note_files()

    def _import(self, name: str) -> None:
        local = self._is_local(name)
        before = _generators() if local else {}
        try:
            importlib.import_module(name)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.failed[name] = _one_line(error)
        package = name.partition(".")[0]
        tainted = dict(_askers)
        _askers.clear()
        if tainted:
            tainted.setdefault(package, f"imports {next(iter(tainted))}")
        elif fitness.extra_threads() and package not in TRUSTED:
            tainted[package] = "starts a thread while it is imported"
        if tainted:
            raise Taint(tainted)
        if local:
            after = _generators()
            self.seeded |= {kind: after[kind] for kind in before if after[kind] != before[kind]}

    def _import_numpy(self) -> None:
        """Before all others, to know its threads: OpenBLAS starts some as it is loaded, and has
        them end when the process forks."""
        if "numpy" in sys.modules or "numpy" in self.skip or self._is_local("numpy"):
            return
        alone = fitness.threads() == 1
        try:
            importlib.import_module("numpy")
        except Exception:
            return
        if alone:
            fitness.allow_present_threads()

    def _is_local(self, name: str) -> bool:
        package = name.partition(".")[0]
        if package not in self.local:
            top = os.path.join(self.folder, package)
            self.local[package] = os.path.isfile(top + ".py") or os.path.isdir(top)
        return self.local[package]

    def _note_files(self) -> None:
        """Only the user's own: what is installed does not change under a running job."""
        installed = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if not path or path in self.files or not path.startswith(self.folder + os.sep):
                continue
            if not path.startswith(installed):
                self.files[path] = _stamp(path)

    def changed(self) -> str:
        """A file that is no longer what was imported, or ''."""
        return next((path for path, stamp in self.files.items() if _stamp(path) != stamp), "")


def _one_line(error: BaseException) -> str:
    text = str(error).partition("\n")[0][:REASON_CHARACTERS_MAX]
    return text if isinstance(error, ImportError) else f"{type(error).__name__}: {text}"


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _generators() -> dict[str, Any]:
    """States of the generators that a fresh process seeds by chance."""
    states: dict[str, Any] = {"random": random.getstate()}
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        kind, keys, position = numpy_random.get_state()[:3]
        states["numpy"] = (kind, keys.tobytes(), position)
    return states


def reseed(seeded: dict[str, Any]) -> None:
    """In a rank: a fresh process draws its own seeds, but for what an import has seeded. torch
    begins with a fixed seed in every process, and so it does here. `random` reseeds itself when a
    process forks."""
    if "random" in seeded:
        random.setstate(seeded["random"])
    if "numpy" not in seeded and "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def warm_up() -> None:
    """The first optimizer of a process brings in half of torch's compiler, and its first step a
    few tables more. Too small for a second thread; uses no random number."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "optim"):
        return
    try:
        parameter = torch.nn.Parameter(torch.zeros(2))
        optimizer = torch.optim.Adam([parameter])
        (parameter * parameter).sum().backward()
        optimizer.step()
    except Exception:
        pass
