"""Cache directories to pack, made from a seed. Sizes, numbers and compressibility are those of a
directory that torch 2.13 left after seven compiled graphs on a CPU, forward and backward:

| kind    | files | bytes of one: least, median, most | `zstd -3` of each | of all together |
|---------|-------|-----------------------------------|-------------------|-----------------|
| library | 23    | 53k, 58k, 81k                     | 2.9 times smaller | 10              |
| graph   | 7     | 81k, 85k, 185k                    | 5.5               | 20              |
| joint   | 6     | 75k, 75k, 258k                    | 6.0               | 22              |
| C++     | 23    | 4.3k, 5.6k, 16k                   | 3.6               | 27              |
| Python  | 7     | 5.1k, 7.8k, 53k                   | 6.9               | 13              |
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LITERAL = 4  # bytes that nothing before them has, …
MATCH_COST = 3.2  # … and what zstd spends on those behind them, which something has
POOL_BYTES = 8 << 20
WORDS_BYTES = 512  # what is repeated
SLICE_BYTES = 700


@dataclass
class Sort:
    name: str
    files: int  # of one model
    sizes: tuple[int, int, int]
    alone: float
    together: float


SORTS = [
    Sort("library", 23, (53_000, 58_000, 81_000), 2.9, 10),
    Sort("graph", 7, (81_000, 85_000, 185_000), 5.5, 20),
    Sort("joint", 6, (75_000, 75_000, 258_000), 6.0, 22),
    Sort("cpp", 23, (4_300, 5_600, 16_000), 3.6, 27),
    Sort("python", 7, (5_100, 7_800, 53_000), 6.9, 13),
]


def text_of_ratio(rng: random.Random, words: bytes, size: int, ratio: float) -> bytes:
    """Bytes that zstd makes about so many times smaller, if it has seen the words."""
    repeat = max(6, round(ratio * (LITERAL + MATCH_COST) - LITERAL))
    text = bytearray()
    while len(text) < size:
        begin = rng.randrange(len(words) - repeat)
        text += rng.randbytes(LITERAL) + words[begin : begin + repeat]
    return bytes(text[:size])


class Writer:
    """Files of one sort: a common skeleton, with stretches of their own."""

    def __init__(self, rng: random.Random, sort: Sort) -> None:
        self.rng, self.sort = rng, sort
        words = rng.randbytes(WORDS_BYTES)
        self.skeleton = words + text_of_ratio(rng, words, sort.sizes[2], sort.alone)
        self.pool = text_of_ratio(rng, words, POOL_BYTES, sort.alone)
        self.own = sort.alone / sort.together  # how much of a file is its own

    def content(self) -> bytes:
        least, median, most = self.sort.sizes
        size = round(self.rng.triangular(least, most, median * 1.02))
        if self.rng.random() < 0.8:  # most of them are near the median
            size = round(self.rng.uniform(least, median * 1.1))
        out = bytearray(self.skeleton[:size])
        for begin in range(WORDS_BYTES, size - SLICE_BYTES, SLICE_BYTES):
            if self.rng.random() < self.own:
                at = self.rng.randrange(len(self.pool) - SLICE_BYTES)
                out[begin : begin + SLICE_BYTES] = self.pool[at : at + SLICE_BYTES]
        return bytes(out)


def key_of(rng: random.Random) -> str:
    return base64.b32encode(rng.randbytes(32))[:51].decode().lower()


def place_of(sort: str, key: str, content: bytes) -> str:
    name = base64.b32encode(hashlib.sha256(content).digest())[:51].decode().lower()
    return {
        "library": f"{key[:2]}/c{key}.main.so",
        "cpp": f"{key[:2]}/c{key}.main.cpp",
        "python": f"{key[:2]}/c{key}.py",
        "graph": f"fxgraph/{key[:2]}/f{key}/{name}",
        "joint": f"aotautograd/a{key}/{name}",
    }[sort]


def write(directory: Path, path: str, content: bytes) -> int:
    place = directory / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return len(content)


def make_models(directory: Path, megabytes: int) -> int:
    """Many models' small files; bytes of all of them."""
    rng = random.Random(7)
    writers = [Writer(rng, sort) for sort in SORTS]
    total = 0
    while total < megabytes * 1_000_000:
        for writer in writers:
            for _ in range(writer.sort.files):
                content = writer.content()
                place = place_of(writer.sort.name, key_of(rng), content)
                total += write(directory, place, content)
    return total


def machine_code() -> Iterator[Path]:
    """Large libraries that are on this machine."""
    torch = importlib.util.find_spec("torch")
    folders = [Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib")]
    if torch is not None and torch.submodule_search_locations:
        folders.insert(0, Path(torch.submodule_search_locations[0]) / "lib")
    for folder in folders:
        for path in sorted(folder.glob("*.so*")):
            if path.is_file() and not path.is_symlink() and path.stat().st_size > 8_000_000:
                yield path


def make_libraries(directory: Path, megabytes: int) -> int:
    """Few large files of real machine code, 1 to 8 MB each, as kernels of GPUs and whole graphs in
    C++ are."""
    rng = random.Random(8)
    total = 0
    for path in machine_code():
        with path.open("rb") as file:
            while total < megabytes * 1_000_000:
                content = file.read(rng.randrange(1_000_000, 8_000_000))
                if not content:
                    break
                total += write(directory, place_of("library", key_of(rng), content), content)
    if total < megabytes * 500_000:
        raise SystemExit("bench: no large libraries on this machine to make a cache directory of")
    return total
