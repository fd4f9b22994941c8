"""How fast a compile cache is packed and unpacked, and how small it gets.

    python bench/bench_archive.py [--mb 300] [--rounds 5]

A cache directory that is made from a seed: generated C++ and Python, libraries that have most of
their bytes in common, graphs. Peer: `tar --zstd` at level 3 with two threads, to and from the same
disk, taking turns; it neither hashes what it packs nor checks what it unpacks. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))
BOUND = ["--torch", "2.13.0", "--python-tag", "cpython-311", "--environment", "/venv"]
RANKS = 64


def row(name: str, unit: str, ours: float, peer: float | None, peer_name: str | None) -> None:
    better = "lower" if unit == "bytes" else "higher"
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": better}), flush=True)


def make_file(rng: random.Random, words: list[bytes], size: int) -> bytes:
    pieces = []
    left = size
    while left > 0:
        piece = rng.choice(words) if rng.random() < 0.9 else rng.randbytes(12)
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)[:size]


def make_directory(directory: Path, megabytes: int) -> int:
    """Files of the sizes that a real directory has; bytes of all of them."""
    rng = random.Random(7)
    words = [rng.randbytes(rng.randrange(16, 96)) for _ in range(4000)]
    total, number = 0, 0
    while total < megabytes << 20:
        for ending, size in ((".main.cpp", 8_000), (".main.so", 60_000), (".py", 50_000)):
            name = f"c{number:08d}{ending}"
            place = directory / f"{number % 32:02d}" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(make_file(rng, words, rng.randrange(size // 2, size * 3 // 2)))
            total += place.stat().st_size
        number += 1
    return total


def timed(*command: object) -> float:
    begin = time.monotonic()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def cache(*arguments: object) -> list[object]:
    return [BIN, "cache", *arguments]


def measure(folder: Path, directory: Path, total: int, rounds: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in ("pack", "tar", "unpack", "untar")}
    archive, tarball = folder / "x.hwc", folder / "x.tar.zst"
    to, tar_to = folder / "to", folder / "tar_to"
    squeeze = "--use-compress-program=zstd -3 -T2"
    for _ in range(rounds):
        archive.unlink(missing_ok=True)
        times["pack"].append(timed(*cache("pack", directory, "-o", archive, *BOUND)))
        times["tar"].append(timed("tar", squeeze, "-cf", tarball, "-C", directory, "."))
        times["unpack"].append(timed(*cache("unpack", archive, "--to", to)))
        tar_to.mkdir()
        times["untar"].append(timed("tar", squeeze, "-xf", tarball, "-C", tar_to))
        shutil.rmtree(to)
        shutil.rmtree(tar_to)
    speed = {name: total / 1e6 / statistics.median(found) for name, found in times.items()}
    row("archive_pack_mb_per_s", "MB/s", speed["pack"], speed["tar"], "tar --zstd")
    row("archive_unpack_mb_per_s", "MB/s", speed["unpack"], speed["untar"], "tar --zstd")
    sizes = archive.stat().st_size, tarball.stat().st_size
    row("archive_bytes", "bytes", *sizes, "tar --zstd")


def merge_ranks(folder: Path, directory: Path) -> None:
    """Ranks that have most of a small cache in common: the merged one against one of the union."""
    rng = random.Random(9)
    files = sorted(path for path in directory.rglob("*") if path.is_file())[:400]
    union = folder / "union"
    archives = []
    for rank in range(RANKS):
        own = folder / f"rank{rank}"
        for path in files:
            if rng.random() < 0.85:
                for base in (own, union):
                    place = base / path.relative_to(directory)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    if not place.exists():
                        os.link(path, place)
        archives.append(folder / f"rank{rank}.hwc")
        timed(*cache("pack", own, "-o", archives[-1], *BOUND))
    timed(*cache("merge", *archives, "-o", folder / "merged.hwc"))
    timed(*cache("pack", union, "-o", folder / "union.hwc", *BOUND))
    sizes = (folder / "merged.hwc").stat().st_size, (folder / "union.hwc").stat().st_size
    row(f"archive_merge_{RANKS}_ranks_bytes", "bytes", *sizes, "one archive of the union")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
        timed(*cache("keygen"))
        print("making a cache directory", file=sys.stderr)
        directory = folder / "cache"
        total = make_directory(directory, arguments.mb)
        measure(folder, directory, total, arguments.rounds)
        merge_ranks(folder, directory)


if __name__ == "__main__":
    main()
