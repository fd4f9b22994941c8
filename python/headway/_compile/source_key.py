"""torch_key, the hash of torch's own sources that is part of every key: 0.3 s of reading.

It is kept under a stamp of the installed wheel: its RECORD, which has the digest of every file, and
the names and sizes of the source files as they are. A file that was changed after the wheel was
installed is younger than RECORD: then its time is in the stamp too, and the kept hash is found on
this machine only as long as nothing else changes. Where there is no RECORD all times are in it."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from types import ModuleType

from headway._compile import facts

INSTALL_NS = 2_000_000_000  # an installer writes RECORD last, or nearly so
KEY_BYTES = 32


def _sources(folder: str, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Modules, as pkgutil finds them: packages are entered, other folders are not."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = f"{below}/{entry.name}"
            if entry.name.endswith((".py", ".so")):
                yield name, entry.stat()
            elif entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py")):
                yield from _sources(entry.path, name)


def stamp_of(torch_folder: str, version: str, extra: tuple[str, ...] = ()) -> str:
    """Changes with the sources, as far as names, sizes and times tell."""
    record, record_ns = b"", -1
    parent = os.path.dirname(torch_folder)
    path = os.path.join(parent, f"torch-{version}.dist-info", "RECORD")
    try:
        with open(path, "rb") as file:
            record = file.read()
            record_ns = os.fstat(file.fileno()).st_mtime_ns + INSTALL_NS
    except OSError:
        pass
    digest = hashlib.sha256(f"{version}\n{len(record)}\n".encode() + record)
    found = list(_sources(torch_folder))
    found += [(name, os.stat(name)) for name in extra if os.path.exists(name)]
    for name, status in found:
        changed_ns = status.st_mtime_ns if status.st_mtime_ns > record_ns else 0
        digest.update(
            f"{name.removeprefix(torch_folder)}\n{status.st_size} {changed_ns}\n".encode()
        )
    return digest.hexdigest()


def kept(compute: Callable[[], bytes], torch_folder: str, version: str) -> bytes:
    try:
        inductor = os.path.join(torch_folder, "_inductor")
        extra = ("codegen/aoti_runtime/interface.cpp", "script.ld")
        stamp = stamp_of(
            torch_folder, version, tuple(os.path.join(inductor, name) for name in extra)
        )
        value = bytes.fromhex(facts.read("key-" + stamp).decode())
    except (OSError, ValueError):
        return compute()
    if len(value) == KEY_BYTES:
        return value
    value = compute()
    facts.write("key-" + stamp, value.hex().encode())
    return value


def install(module: ModuleType) -> None:
    """torch_key is a wrapper with the function in its closure; others have imported the wrapper."""
    wrapper = module.torch_key
    cell = wrapper.__closure__[wrapper.__code__.co_freevars.index("func")]
    compute = cell.cell_contents
    if compute.__name__ != "torch_key" or module.config.is_fbcode():
        return
    torch = __import__("torch")
    folder = os.path.dirname(os.path.abspath(torch.__file__))
    cell.cell_contents = functools.partial(kept, compute, folder, str(torch.__version__))
