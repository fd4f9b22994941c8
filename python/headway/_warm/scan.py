"""What a script that never ran will import, from its text: its own imports and, of modules that
lie beside it, theirs. Nothing of the user's is executed. Only what is installed is named: a module
of the user's own waits until a start has shown that it is wanted."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

FILES_MAX = 200
BYTES_MAX = 2 << 20


def script_of(argv: list[str]) -> tuple[str, str]:
    """(the script's file or '', the folder that Python puts first in sys.path), from the command
    line as the agent writes it: python SCRIPT … or python -m MODULE …."""
    if len(argv) >= 3 and argv[1] == "-m":
        folder = os.getcwd()
        return _local_file(folder, argv[2]) or "", folder
    path = os.path.realpath(argv[1])
    return path, os.path.dirname(path)


def installed_imports(script: str, folder: str) -> list[str]:
    """Names for import, in the order of the text."""
    wanted: dict[str, None] = {}
    todo = [script]
    seen: set[str] = set()
    while todo and len(seen) < FILES_MAX:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in _imports(path):
            local = _local_file(folder, name)
            if local:
                todo.append(local)
            else:
                wanted.setdefault(name)
    return list(wanted)


def _local_file(folder: str, name: str) -> str | None:
    base = os.path.join(folder, *name.split("."))
    for path in (
        base + ".py",
        os.path.join(base, "__main__.py"),
        os.path.join(base, "__init__.py"),
    ):
        if os.path.isfile(path):
            return path
    if os.path.isdir(os.path.join(folder, name.split(".")[0])):
        return os.path.join(folder, name.split(".")[0], "__init__.py")
    return None


def _imports(path: str) -> Iterator[str]:
    """Of the module's own level; what a function imports it may never import."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(BYTES_MAX))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
