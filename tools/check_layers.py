"""Fails when an include points upwards, a file has grown too long, or two test files share a name.

The layers are the folders of src/, in the order of src/CMakeLists.txt: a folder may include only
itself and folders listed before it. Public headers (include/) may include nothing of src/. Tests,
benchmarks and fuzzers outside src/ stand above all layers. pytest imports test files by their name
alone: of two with one name it can collect only the first, and a run of one folder does not show it.

usage: check_layers.py [ROOT]
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

LINES_MAX = 600
CPP = {".h", ".cc"}
SIZED = CPP | {".py", ".sh"}
SIZED_FOLDERS = ("include", "src", "python", "tests", "bench", "fuzz", "examples", "tools", "dev.d")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SUBDIRECTORY = re.compile(r"^\s*add_subdirectory\(\s*(\w+)", re.MULTILINE)


def layers(root: Path) -> list[str]:
    return SUBDIRECTORY.findall((root / "src/CMakeLists.txt").read_text())


def includes(path: Path) -> Iterator[tuple[int, bool, str]]:
    """(line number, quoted, what is included) for each include of a file."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1] == '"', match[2]


def cpp_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in CPP)


def check_source(root: Path, order: list[str]) -> Iterator[str]:
    level = {name: i for i, name in enumerate(order)}
    for path in cpp_files(root / "src"):
        place = path.relative_to(root)
        own = place.parts[1]
        if own not in level:
            yield f"{place}:1: folder src/{own} is not listed in src/CMakeLists.txt"
            continue
        for number, quoted, target in includes(path):
            folder = target.split("/")[0]
            if folder in level and level[folder] > level[own]:
                yield (
                    f"{place}:{number}: includes {target}, but {folder} is a layer above {own}"
                    " (order: src/CMakeLists.txt); move the shared part down or pass it in"
                )
            elif quoted and folder not in level and folder != "headway":
                yield (
                    f"{place}:{number}: includes {target}, which is in no listed folder;"
                    " write it as FOLDER/FILE with a folder of src/CMakeLists.txt"
                )


def check_public(root: Path, order: list[str]) -> Iterator[str]:
    for path in cpp_files(root / "include"):
        for number, quoted, target in includes(path):
            folder = target.split("/")[0]
            if folder in order or (quoted and folder != "headway"):
                yield (
                    f"{path.relative_to(root)}:{number}: includes {target}; a public header stands"
                    " alone and may include nothing of src/"
                )


def check_sizes(root: Path) -> Iterator[str]:
    for folder in SIZED_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SIZED or not path.is_file():
                continue
            count = path.read_bytes().count(b"\n")
            if count > LINES_MAX:
                yield (
                    f"{path.relative_to(root)}:{count}: longer than {LINES_MAX} lines; split it"
                    " into files with one idea each"
                )


def check_test_names(root: Path) -> Iterator[str]:
    first: dict[str, Path] = {}
    for folder in ("tests", "tools"):
        for path in sorted((root / folder).rglob("test_*.py")):
            place = path.relative_to(root)
            if (other := first.setdefault(path.name, place)) != place:
                yield f"{place}:1: has the name of {other}, and pytest can take only one; rename it"


def problems(root: Path) -> list[str]:
    order = layers(root)
    return [
        *check_source(root, order),
        *check_public(root, order),
        *check_sizes(root),
        *check_test_names(root),
    ]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = problems(root)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
