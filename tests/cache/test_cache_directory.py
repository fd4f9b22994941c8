"""Unpacking into directories that do not behave, and by several at once."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from cache_command import Cache, read_tree, some_tree, write_tree
from fault_training import mounted, needs_root


def large_tree() -> dict[str, bytes]:
    return {f"ab/c{i}.main.so": os.urandom(200_000) for i in range(40)}


def test_two_at_once_do_the_work_once(cache: Cache, tmp_path: Path) -> None:
    tree = large_tree()
    cache.pack(write_tree(tmp_path / "c", tree), tmp_path / "x.hwc")
    command = cache.command("unpack", tmp_path / "x.hwc", "--to", tmp_path / "to", "--json")
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=cache.environment(), text=True)
        for _ in range(4)
    ]
    answers = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert sorted(answer["written"] for answer in answers) == [0, 0, 0, len(tree)]
    assert read_tree(tmp_path / "to") == tree


def test_killed_unpackers_leave_nothing_that_counts(cache: Cache, tmp_path: Path) -> None:
    tree = large_tree()
    cache.pack(write_tree(tmp_path / "c", tree), tmp_path / "x.hwc")
    to = tmp_path / "to"
    command = cache.command("unpack", tmp_path / "x.hwc", "--to", to, "--json")
    for delay_ms in (5, 10, 20, 30, 45):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=cache.environment())
        try:
            process.wait(delay_ms / 1000)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for path in to.glob("ab/*"):
            assert path.read_bytes() == tree[f"ab/{path.name}"]
    cache.run("unpack", tmp_path / "x.hwc", "--to", to)
    assert read_tree(to) == tree


@needs_root
def test_a_full_directory(cache: Cache, tmp_path: Path) -> None:
    tree = large_tree()
    cache.pack(write_tree(tmp_path / "c", tree), tmp_path / "x.hwc")
    small = tmp_path / "small"
    with mounted(small, "-t", "tmpfs", "-o", "size=4m", "none"):
        said = cache.run("unpack", tmp_path / "x.hwc", "--to", small, code=2).stderr
        assert "no room" in said and str(small) in said
        assert read_tree(small) == {}
        assert [path.name for path in small.iterdir()] == [".headway-lock"]


@needs_root
def test_a_directory_that_cannot_be_written(cache: Cache, tmp_path: Path) -> None:
    tree = some_tree()
    cache.pack(write_tree(tmp_path / "c", tree), tmp_path / "x.hwc")
    for name, expected in (("empty", 2), ("full", 0)):
        to = tmp_path / name
        to.mkdir()
        if expected == 0:
            write_tree(to, tree)
        subprocess.run(["mount", "--bind", to, to], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", to], check=True)
            done = cache.run("unpack", tmp_path / "x.hwc", "--to", to, code=expected)
            # What is all there needs no writing.
            assert ("cannot be written" in done.stderr) == (expected == 2)
        finally:
            subprocess.run(["umount", to], check=True)


def test_a_library_that_is_being_compiled_stays_out(cache: Cache, tmp_path: Path) -> None:
    import fcntl

    directory = write_tree(tmp_path / "c", some_tree())
    write_tree(directory, {"locks/c0_1.lock": b"", "locks/c0_2.lock": b""})
    with open(directory / "locks/c0_1.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        packed = cache.pack(directory, tmp_path / "x.hwc")
    assert packed["busy"] == 1 and packed["entries"] == len(some_tree()) - 1
    assert cache.pack(directory, tmp_path / "x.hwc")["busy"] == 0
