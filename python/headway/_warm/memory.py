"""What earlier starts of the same script have taught: the modules that it imports up to its first
step, and those that must not be imported ahead. One small JSON file a script, kept beside the jobs
(docs/formats/warm.md). A file that cannot be read counts as none."""

from __future__ import annotations

import json
import os
import platform

FILE_VARIABLE = "HEADWAY_WARM_FILE"
SKIP_VARIABLE = "HEADWAY_WARM_SKIP"  # JSON; survives an exec where no file can be kept
VERSION = 1
MODULES_MAX = 20_000
BYTES_MAX = 4 << 20


class Memory:
    def __init__(self) -> None:
        self.path = os.environ.get(FILE_VARIABLE, "")
        self.modules: list[str] = []
        self.skip: dict[str, str] = {}  # top-level package: why
        self._load()
        self.skip.update(_strings(_parsed(os.environ.get(SKIP_VARIABLE, ""))))

    def _load(self) -> None:
        try:
            with open(self.path, encoding="utf-8") as file:
                kept = _parsed(file.read(BYTES_MAX))
        except (OSError, UnicodeDecodeError):
            return
        if kept.get("version") != VERSION or kept.get("python") != platform.python_version():
            return
        modules = kept.get("modules")
        if isinstance(modules, list):
            self.modules = [name for name in modules if isinstance(name, str)][:MODULES_MAX]
        self.skip = _strings(kept.get("skip"))

    def save(self) -> None:
        os.environ[SKIP_VARIABLE] = json.dumps(self.skip)
        if not self.path:
            return
        kept = {
            "version": VERSION,
            "python": platform.python_version(),
            "modules": self.modules[:MODULES_MAX],
            "skip": self.skip,
        }
        temporary = f"{self.path}.{os.getpid()}"
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(temporary, self.path)
        except OSError:
            pass  # the next start is as slow as this one


def _parsed(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}
