"""What a worker needs of Headway, as one archive that Spark unpacks there: the extension, the
libraries that it stands on, and the two modules around it. A worker then needs Python, pyarrow and
pyspark, and a C++ runtime no older than the one here."""

from __future__ import annotations

import importlib
import io
import os
import tarfile
from pathlib import Path
from typing import Any

NAME = "headway_fleet"  # of the folder on the worker
MODULES = ("__init__.py", "arrow.py", "tasks.py")
# Every worker that runs Python and Arrow has these.
EVERYWHERE = ("ld-linux", "libc.", "libm.", "libgcc_s.", "libpthread.", "libdl.", "libstdc++.")


def _loaded() -> set[str]:
    """Files of this process that are shared libraries."""
    found = set()
    for line in Path("/proc/self/maps").read_text().splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and ".so" in words[5]:
            found.add(words[5])
    return found


def load_extension() -> tuple[Any, list[str]]:
    """headway._fleet, and the libraries that came with it."""
    before = _loaded()
    extension = importlib.import_module("headway._fleet")
    own = os.path.realpath(extension.__file__)
    libraries = [
        path
        for path in sorted(_loaded() - before)
        if path != own and not os.path.basename(path).startswith(EVERYWHERE)
    ]
    return extension, libraries


def _soname(path: str) -> str:
    """libfmt.so.9.1.0 is asked for as libfmt.so.9: the name that links to it says so."""
    folder = os.path.dirname(path)
    links = [
        entry.name
        for entry in os.scandir(folder)
        if entry.is_symlink() and ".so." in entry.name and os.path.realpath(entry.path) == path
    ]
    return min(links, key=len, default=os.path.basename(path))


def pack(archive: Path, extension: Any, libraries: list[str]) -> None:
    here = Path(__file__).parent
    with tarfile.open(archive, "w:gz", compresslevel=1) as out:
        # Headway's own __init__ is for trainers: it would load the recorder.
        out.addfile(tarfile.TarInfo("headway/__init__.py"), io.BytesIO())
        out.add(os.path.realpath(extension.__file__), f"headway/{Path(extension.__file__).name}")
        for library in libraries:
            out.add(library, f"headway/lib/{_soname(library)}")
        for module in MODULES:
            out.add(here / module, f"headway/fleet/{module}")


def on_executor(function: str, *arguments: Any) -> Any:
    """`tasks.function(batches, *arguments)` for mapInArrow. It is sent as it stands here, so it may
    name nothing of this package before it has found it."""
    name = NAME

    def run(batches: Any) -> Any:
        import importlib
        import sys

        from pyspark import SparkFiles

        place = SparkFiles.get(name)
        if place not in sys.path:
            sys.path.insert(0, place)
        tasks = importlib.import_module("headway.fleet.tasks")
        yield from getattr(tasks, function)(batches, *arguments)

    return run
