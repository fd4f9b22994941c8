"""`headway ckpt prune`: what stays, what it says of that, and LATEST."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoint_writer as writer
import numpy as np
from checkpoint_writer import Facts
from ckpt_command import Ckpt

HOUR_NS = 3_600_000_000_000
Tensors = dict[str, np.ndarray]
AskJson = Callable[..., Any]


def test_prune(tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson) -> None:
    folder = tmp_path / "ck"
    small = {"model.bias": tensors["model.bias"]}
    begin = 480_000 * HOUR_NS
    for i in range(1, 11):  # one an hour
        facts = Facts(step=i, time_ns=begin + i * HOUR_NS)
        writer.write(folder, i, facts, writer.rows(small, 1))
    ckpt("anchor", folder / "step-00000002-000002")
    (folder / "step-00000010-000010" / writer.shard_name(0)).write_bytes(b"")
    before = sorted(p.name for p in folder.iterdir())
    plan = ckpt_json("prune", folder, "--last", 2, "--every", "4h", "--dry-run")
    assert [(c["name"][-2:], c["why"]) for c in plan["kept"]] == [
        ("10", "left"),
        ("09", "newest"),
        ("08", "last"),
        ("04", "every"),
        ("02", "anchor"),
        ("01", "every"),
    ]
    assert sorted(p.name for p in folder.iterdir()) == before
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / ".lock").write_text("a trainer, pid 7 on n1\n")
        refused = ckpt("prune", folder, "--last", 2, code=2)
        assert "in use by a trainer, pid 7 on n1" in refused.stderr
        ckpt("anchor", folder / "step-00000004-000004", code=2)
    done = ckpt("prune", folder, "--last", 2, "--every", "4h")
    assert "removed 4 checkpoints" in done.stdout and "--damaged removes it" in done.stdout
    left = sorted(int(p.name[-2:]) for p in folder.glob("step-*"))
    assert left == [1, 2, 4, 8, 9, 10]
    again = ckpt_json("prune", folder, "--last", 2, "--every", "4h")
    assert again["removed"] == []
    assert (folder / "LATEST").read_text() == "step-00000009-000009\n", "the newest good one"
    done = ckpt_json("prune", folder, "--last", 1, "--damaged")
    assert sorted(c["name"][-2:] for c in done["removed"]) == ["01", "04", "08", "10"]
    assert (folder / "LATEST").read_text() == "step-00000009-000009\n"
    ckpt("anchor", folder / "step-00000002-000002", "--remove")
    ckpt("prune", folder, "--last", 1)
    assert [p.name for p in folder.glob("step-*")] == ["step-00000009-000009"]
    assert "say what to keep" in ckpt("prune", folder, code=2).stderr
    assert "--every x" in ckpt("prune", folder, "--every", "x", code=2).stderr
    ckpt("prune", folder, "--last", 0, code=2)
    assert (
        "one checkpoint"
        in ckpt("prune", folder / "step-00000009-000009", "--last", 1, code=2).stderr
    )


def test_prune_reads_the_one_that_stays(tensors: Tensors, tmp_path: Path, ckpt: Ckpt) -> None:
    folder = tmp_path / "ck"
    paths = [writer.write(folder, i, Facts(step=i), writer.rows(tensors, 1)) for i in range(1, 6)]
    writer.flip(paths[4])
    writer.flip(paths[3])
    assert "kept" in ckpt("prune", folder, "--last", 1, "--dry-run").stdout
    done = ckpt("prune", folder, "--last", 1).stdout
    assert "removed 2 checkpoints" in done and done.count("damaged; --damaged removes it") == 2
    assert sorted(p.name for p in folder.glob("step-*")) == [p.name for p in paths[2:]]
    ckpt("verify", paths[2])
    writer.flip(paths[2])
    done = ckpt("prune", folder, "--last", 1).stdout
    assert "removed 0 checkpoints" in done, "none is good: nothing goes"


def test_prune_calls_nothing_good_that_it_has_not_read(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    folder = tmp_path / "ck"
    paths = [writer.write(folder, i, Facts(step=i), writer.rows(tensors, 1)) for i in range(1, 4)]
    untouched = ckpt("prune", folder, "--last", 3).stdout
    assert "good one" not in untouched and "it was not read" in untouched
    kept = ckpt_json("prune", folder, "--last", 3)["kept"]
    assert [each["state"] for each in kept] == ["unread"] * 3
    for path in paths:
        writer.flip(path)
    done = ckpt("prune", folder, "--last", 1, "--damaged").stdout
    assert done.count("damaged; nothing good is left") == 3 and "removed 0 " in done
    (paths[2] / writer.shard_name(0)).write_bytes(b"")  # this one is known without reading
    done = ckpt_json("prune", folder, "--last", 3, "--damaged")
    assert [(each["why"], each["state"]) for each in done["kept"]] == [("left", "damaged")] * 3
    writer.flip(paths[0])  # back to what it was
    done = ckpt_json("prune", folder, "--last", 1, "--damaged")
    assert [(each["name"], each["state"]) for each in done["kept"]] == [(paths[0].name, "good")]
    assert [p.name for p in folder.glob("step-*")] == [paths[0].name]


def test_prune_puts_latest_right(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    folder = tmp_path / "ck"
    latest = folder / "LATEST"
    for i in range(1, 4):
        writer.write(folder, i, Facts(step=i), writer.rows(tensors, 1))
    latest.unlink()
    ckpt("prune", folder, "--last", 2, "--dry-run")
    assert not latest.exists()
    ckpt("prune", folder, "--last", 2)
    assert latest.read_text() == "step-00000003-000003\n"
    for text in ("step-00000001-000001\n", "step-00000002-000002\n", "", "x" * 1000):
        latest.write_text(text)
        assert ckpt_json("prune", folder, "--last", 2)["removed"] == []
        assert latest.read_text() == "step-00000003-000003\n", text


def test_prune_counts_what_it_frees(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    folder = tmp_path / "ck"
    paths = [writer.write(folder, i, Facts(step=i), writer.rows(tensors, 1)) for i in range(1, 5)]
    (paths[0] / "MANIFEST.json").unlink()
    (paths[1] / "MANIFEST.json").write_bytes(b"{}")
    (paths[2] / writer.shard_name(0)).write_bytes(b"12345")
    there = {p: sum(file.stat().st_size for file in p.iterdir()) for p in paths}
    listed = ckpt_json("ls", folder)["checkpoints"]
    assert [each["bytes"] for each in listed[1:]] == [there[p] for p in paths[2::-1]]
    done = ckpt_json("prune", folder, "--last", 1, "--damaged")
    assert len(done["removed"]) == 3
    assert done["bytes_removed"] == sum(there[p] for p in paths[:3])


def test_prune_of_what_is_no_folder_of_checkpoints(tmp_path: Path, ckpt: Ckpt) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "no checkpoint is in it" in ckpt("prune", tmp_path, "--last", 1, code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"], "nor is a lock"
    gone = ckpt("prune", tmp_path / "none", "--last", 1, code=2).stderr
    assert "there is no such folder" in gone


def test_prune_removes_what_lost_its_manifest(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    folder = tmp_path / "ck"
    paths = [writer.write(folder, i, Facts(step=i), writer.rows(tensors, 1)) for i in range(1, 5)]
    (paths[1] / "MANIFEST.json").unlink()
    (paths[2] / "MANIFEST.json").unlink()
    (paths[2] / "ANCHOR").write_text("")
    done = ckpt_json("prune", folder, "--last", 5)
    assert [each["name"] for each in done["removed"]] == [paths[1].name]
    assert sorted(path.name for path in folder.glob("*step-*")) == [
        path.name for path in (paths[0], paths[2], paths[3])
    ]
