"""What import and export write appears whole or not at all: full disks and SIGKILL, again and
again."""

import json
import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))
STEPS = 60_000
KILLS = 25


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job that takes a while to write."""
    path = tmp_path_factory.mktemp("input") / "events.jsonl"
    with path.open("w") as file:
        for step in range(STEPS):
            row = {"t_ns": step * 10**9, "job": "big", "attempt": 1, "rank": 0}
            file.write(json.dumps({**row, "type": "step_end", "step": step}) + "\n")
    return path


def command(verb: str, events: Path, folder: Path) -> list[str]:
    if verb == "import":
        return [str(HEADWAY), "import", str(events), "--dir", str(folder)]
    return [str(HEADWAY), "export", str(events), "--format", verb, "-o", str(folder / "out")]


def visible(folder: Path) -> dict[str, bytes]:
    """Every file but the temporary ones, which a killed process cannot take away."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix != ".tmp"]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def run_to_the_end(verb: str, events: Path, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    subprocess.run(command(verb, events, folder), check=True, capture_output=True)
    (whole,) = visible(folder).items()
    return dict([whole])


@pytest.mark.parametrize("verb", ["import", "jsonl", "perfetto", "csv"])
def test_a_disk_that_is_full(verb: str, events: Path, tmp_path: Path) -> None:
    whole = run_to_the_end(verb, events, tmp_path / "whole")
    (content,) = whole.values()
    sizes = [0, 1, 4095, 4096, len(content) // 2, len(content) - 1]
    for size in sizes:
        folder = tmp_path / f"at-{size}"
        folder.mkdir()

        def limit(size: int = size) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        if verb != "import":
            (folder / "out").write_text("the old one")
        before = visible(folder)
        done = subprocess.run(
            command(verb, events, folder), preexec_fn=limit, capture_output=True, text=True
        )
        assert done.returncode == 2, (size, done)
        assert done.stderr.count("\n") == 1 and "File too large" in done.stderr, done.stderr
        assert visible(folder) == before
        assert not list(folder.rglob("*.tmp")), "a failed write cleans up after itself"


@pytest.mark.parametrize("verb", ["import", "jsonl"])
def test_killed_at_any_moment(verb: str, events: Path, tmp_path: Path) -> None:
    begin = time.monotonic()
    whole = run_to_the_end(verb, events, tmp_path / "whole")
    length = time.monotonic() - begin
    seed = int(os.environ.get("HEADWAY_SEED", random.randrange(1_000_000)))
    print(f"HEADWAY_SEED={seed}")
    rng = random.Random(seed)
    killed = 0
    for i in range(KILLS):
        folder = tmp_path / f"kill-{i}"
        folder.mkdir()
        with subprocess.Popen(
            command(verb, events, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(rng.uniform(0, 1.1 * length))
            process.kill()
        killed += process.returncode == -signal.SIGKILL
        assert visible(folder) in ({}, whole), f"kill {i}: something in between"
        # What was left behind is in nobody's way.
        subprocess.run(command(verb, events, folder), check=True, capture_output=True)
        assert visible(folder) == whole
    assert killed > 0, "every run had ended before it was killed"
