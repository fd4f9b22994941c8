"""How fast a compile cache is packed and unpacked, and how small it gets.

    python bench/bench_archive.py [--mb 300] [--rounds 5]

Two cache directories (archive/directories.py): the small files of many models, and few large
libraries. Peer: `tar` with `zstd -2 -T2`, to and from the same disk, taking turns. It neither
hashes what it packs nor checks what it unpacks; its archive is synced as ours is, unpacked files
are synced by neither. What the file system allows is measured beside: a plain copy of the same
files (`cp -r`), and both sides into memory, which has no file system to wait for. Prints JSON
lines, and to stderr the seconds of processors that each took: on a busy machine they tell more.
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
from dataclasses import dataclass
from pathlib import Path

from archive.directories import make_libraries, make_models

ROOT = Path(__file__).resolve().parents[1]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))
BOUND = ["--torch", "2.13.0", "--python-tag", "cpython-311", "--environment", "/venv"]
RANKS = 64
NAMES = ("pack", "tar", "unpack", "untar", "copy", "unpack_memory", "untar_memory")


def row(name: str, unit: str, ours: float, peer: float | None, peer_name: str | None) -> None:
    better = "higher" if unit == "MB/s" else "lower"
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": better}), flush=True)


@dataclass
class Took:
    wall_s: float
    cpu_s: float


def timed(*command: object, sync: Path | None = None) -> Took:
    """`sync`: a file that the command wrote, to be on the disk before the time counts."""
    before, begin = os.times(), time.monotonic()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    if sync is not None:
        with sync.open("rb") as file:
            os.fsync(file.fileno())
    wall_s, after = time.monotonic() - begin, os.times()
    cpu_s = sum(after[i] - before[i] for i in (2, 3))  # of children
    return Took(wall_s, cpu_s)


def cache(*arguments: object) -> list[object]:
    return [BIN, "cache", *arguments]


def measure(folder: Path, directory: Path, total: int, rounds: int, what: str) -> None:
    times: dict[str, list[Took]] = {name: [] for name in NAMES}
    archive, tarball = folder / "x.hwc", folder / "x.tar.zst"
    to, tar_to, copied = folder / "to", folder / "tar_to", folder / "copied"
    squeeze = "--use-compress-program=zstd -q -2 -T2"
    for _ in range(rounds):
        archive.unlink(missing_ok=True)
        tarball.unlink(missing_ok=True)
        times["pack"].append(timed(*cache("pack", directory, "-o", archive, *BOUND)))
        times["tar"].append(
            timed("tar", squeeze, "-cf", tarball, "-C", directory, ".", sync=tarball)
        )
        times["unpack"].append(timed(*cache("unpack", archive, "--to", to)))
        tar_to.mkdir()
        times["untar"].append(timed("tar", squeeze, "-xf", tarball, "-C", tar_to))
        times["copy"].append(timed("cp", "-r", directory, copied))
        for made in (to, tar_to, copied):
            shutil.rmtree(made)
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            times["unpack_memory"].append(timed(*cache("unpack", archive, "--to", f"{memory}/x")))
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            times["untar_memory"].append(timed("tar", squeeze, "-xf", tarball, "-C", memory))
        os.sync()  # what the last round wrote must not be written while the next one runs
    for name, found in times.items():
        wall_s = " ".join(f"{took.wall_s:.2f}" for took in found)
        cpu_s = statistics.median(took.cpu_s for took in found)
        print(f"   {what} {name}: {wall_s} s, processors {cpu_s:.2f} s", file=sys.stderr)
    speed = {
        name: total / 1e6 / statistics.median(took.wall_s for took in found)
        for name, found in times.items()
    }
    row(f"archive_pack{what}_mb_per_s", "MB/s", speed["pack"], speed["tar"], "tar, zstd -2")
    row(f"archive_unpack{what}_mb_per_s", "MB/s", speed["unpack"], speed["untar"], "tar, zstd -2")
    name = f"archive_unpack{what}_of_copy_mb_per_s"
    row(name, "MB/s", speed["unpack"], speed["copy"], "cp -r of the same files")
    name = f"archive_unpack{what}_memory_mb_per_s"
    row(name, "MB/s", speed["unpack_memory"], speed["untar_memory"], "tar, zstd -2")
    sizes = archive.stat().st_size, tarball.stat().st_size
    row(f"archive{what}_bytes", "bytes", *sizes, "tar, zstd -2")


def merge_ranks(folder: Path, directory: Path) -> None:
    """Ranks that have most of a small cache in common, and a little for themselves: the merged
    archive against one of the union."""
    rng = random.Random(9)
    files = rng.sample(sorted(path for path in directory.rglob("*") if path.is_file()), 600)
    union = folder / "union"
    archives = []
    for rank in range(RANKS):
        own = folder / f"rank{rank}"
        for number, path in enumerate(files):
            if number % 200 == rank or (number % 200 >= RANKS and rng.random() < 0.85):
                for base in (own, union):
                    place = base / path.relative_to(directory)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    if not place.exists():
                        os.link(path, place)
        archives.append(folder / f"rank{rank}.hwc")
        timed(*cache("pack", own, "-o", archives[-1], *BOUND))
    merged, whole = folder / "merged.hwc", folder / "union.hwc"
    took = timed(*cache("merge", *archives, "-o", merged))
    timed(*cache("pack", union, "-o", whole, *BOUND))
    timed(*cache("diff", merged, whole))  # fails if one has what the other has not
    sizes = merged.stat().st_size, whole.stat().st_size
    row(f"archive_merge_{RANKS}_ranks_s", "s", took.wall_s, None, None)
    row(f"archive_merge_{RANKS}_ranks_bytes", "bytes", *sizes, "one archive of the union")
    row(f"archive_merge_{RANKS}_ranks_growth", "times", sizes[0] / sizes[1], None, None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mb", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
        timed(*cache("keygen"))
        for make, what in ((make_models, ""), (make_libraries, "_large")):
            print("   making a cache directory", file=sys.stderr)
            directory = folder / f"cache{what}"
            total = make(directory, arguments.mb)
            os.sync()
            measure(folder, directory, total, arguments.rounds, what)
        merge_ranks(folder, folder / "cache")


if __name__ == "__main__":
    main()
