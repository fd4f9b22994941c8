"""Code blocks of the documentation, and which of them are meant to be run.

A fence says what the block is and, after it, what to do with it:
  ```sh test            run it
  ```python file=x.py   write it to x.py, in the folder where the document's blocks are run
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^\s*```(.*)$")


@dataclass(frozen=True)
class Block:
    path: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def runs(self) -> bool:
        return self.language == "sh" and "test" in self.words

    @property
    def file(self) -> str | None:
        names = [word[len("file=") :] for word in self.words if word.startswith("file=")]
        return names[0] if names else None


def blocks(path: Path) -> Iterator[Block]:
    opened: tuple[int, list[str]] | None = None
    lines: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if fence is None:
            if opened is not None:
                lines.append(line)
        elif opened is None:
            opened, lines = (number, fence[1].split()), []
        else:
            start, info = opened
            language, words = (info[0], info[1:]) if info else ("", [])
            yield Block(path, start, language, tuple(words), "\n".join(lines) + "\n")
            opened = None
    if opened is not None:
        raise ValueError(f"{path}:{opened[0]}: code block is not closed")


def documents(root: Path) -> list[Path]:
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")])
