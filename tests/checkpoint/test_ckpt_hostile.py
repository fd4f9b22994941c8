"""Files that somebody made to do harm: one clear line, exit code 2, nothing else happens."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import checkpoint_writer as writer
import numpy as np
import pytest
from checkpoint_writer import Facts, Piece
from ckpt_command import Ckpt

DATA = b"\x00" * 64
GOOD = {"a": {"dtype": "U8", "shape": [64], "data_offsets": [0, 64]}}


def with_header(folder: Path, header: dict | bytes, data: bytes = DATA) -> Path:
    content = header if isinstance(header, bytes) else writer.safetensors_of(header, data)
    return writer.write_files(folder, 1, Facts(), {writer.shard_name(0): (0, content)})


def refused(path: Path, ckpt: Ckpt, tmp_path: Path) -> str:
    """Every verb that reads tensors refuses it; verify calls it damaged."""
    for verb in (["show", path], ["diff", path, path], ["restore-to", path, tmp_path / "out"]):
        error = ckpt(*verb, code=2).stderr
    assert not (tmp_path / "out").exists()
    ckpt("verify", path, code=1)
    return error


def sharded(offsets: object, shape: object = (64,)) -> dict:
    info = json.dumps({"a": {"saved_offsets": offsets}})
    header = {"a": {"dtype": "U8", "shape": list(shape), "data_offsets": [0, 64]}}
    return {"__metadata__": {"DCP_SHARDING_INFO": info}, **header}


HEADERS = {
    "holes": {"a": {"dtype": "U8", "shape": [60], "data_offsets": [4, 64]}},
    "too short": {"a": {"dtype": "U8", "shape": [63], "data_offsets": [0, 63]}},
    "2^63": {"a": {"dtype": "U8", "shape": [2**63], "data_offsets": [0, 2**63]}},
    "2^64": {"a": {"dtype": "U8", "shape": [64], "data_offsets": [2**64 - 64, 2**64]}},
    "product": {"a": {"dtype": "F64", "shape": [2**32, 2**32, 8], "data_offsets": [0, 64]}},
    "negative": {"a": {"dtype": "U8", "shape": [-64], "data_offsets": [0, 64]}},
    "many dimensions": {"a": {"dtype": "U8", "shape": [1] * 40, "data_offsets": [0, 64]}},
    "no type": {"a": {"dtype": "Q7", "shape": [64], "data_offsets": [0, 64]}},
    "offsets of 2^63": sharded([2**63]),
    "offsets to 2^64": sharded([2**64 - 1]),
    "offsets that are texts": sharded(["0"]),
    "a hole in the whole": sharded([1]),
    "a scalar's offsets": sharded([0, 0]),
    "a list": b"\x02" + b"\x00" * 7 + b"[]" + DATA,
    "length 2^64": b"\xff" * 8 + DATA,
    "length beyond": struct.pack("<Q", 1000) + b"{}" + DATA,
    "empty": b"",
    "seven bytes": b"1234567",
    "deep": struct.pack("<Q", 200_000) + b"[" * 200_000,
}


@pytest.mark.parametrize("what", HEADERS)
def test_headers(what: str, tmp_path: Path, ckpt: Ckpt) -> None:
    path = with_header(tmp_path / "ck", HEADERS[what])
    error = refused(path, ckpt, tmp_path)
    assert writer.shard_name(0) in error or "tensor a: " in error


def test_two_tensors_of_one_name(tmp_path: Path, ckpt: Ckpt) -> None:
    text = json.dumps(GOOD)[:-1] + "," + json.dumps(GOOD)[1:]
    content = struct.pack("<Q", len(text)) + text.encode() + DATA
    path = with_header(tmp_path / "ck", content)
    assert "two tensors are called a" in refused(path, ckpt, tmp_path)


def test_a_name_that_moves_the_cursor(tmp_path: Path, ckpt: Ckpt) -> None:
    name = "\x1b[2J\u202eevil\n"
    header = {name: {"dtype": "U8", "shape": [64], "data_offsets": [0, 64]}}
    path = with_header(tmp_path / "ck", header)
    shown = ckpt("show", path, "--all").stdout
    assert "evil" in shown and "\x1b" not in shown and "\u202e" not in shown
    header = {name: {"dtype": "U8", "shape": [63], "data_offsets": [0, 63]}}
    (tmp_path / "b").mkdir()
    error = ckpt("show", with_header(tmp_path / "b", header), code=2).stderr
    assert "\x1b" not in error
    ckpt("restore-to", path, tmp_path / "out")
    index = json.loads((tmp_path / "out/model.safetensors.index.json").read_text())
    assert list(index["weight_map"]) == [name]


def test_pieces_that_contradict_each_other(tmp_path: Path, ckpt: Ckpt) -> None:
    def pieces(second: Piece) -> Path:
        first = Piece("t", np.zeros((4, 2), np.float32), (0, 0))
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        return writer.write(folder, 1, Facts(), [[first], [second]])

    error = refused(pieces(Piece("t", np.zeros((4, 2), np.float64), (4, 0))), ckpt, tmp_path)
    assert "tensor t: F64 here, F32 in " in error
    error = refused(pieces(Piece("t", np.zeros(8, np.float32), (8,))), ckpt, tmp_path)
    assert "1 dimensions here, 2 in " in error
    error = refused(pieces(Piece("t", np.zeros((4, 2), np.float32), (5, 0))), ckpt, tmp_path)
    assert "tensor t: [4:5, 0:2] of [0:9, 0:2] is in none of the 2 pieces" in error
    error = refused(pieces(Piece("t", np.zeros((4, 2), np.float32), (0, 3))), ckpt, tmp_path)
    assert "[0:4, 2:3]" in error
    far = Piece("t", np.zeros((1, 1), np.float32), (2**61, 2**61))
    assert "too large" in refused(pieces(far), ckpt, tmp_path)
    # The same twice, and overlapping, is no contradiction.
    good = pieces(Piece("t", np.zeros((4, 2), np.float32), (2, 0)))
    ckpt("verify", good)


def change(path: Path, **changed: object) -> None:
    """The manifest with some keys of its first file changed, and sealed again."""
    text = (path / "MANIFEST.json").read_bytes().rsplit(b",\n", 1)[0] + b"}"
    body = json.loads(text)
    body["files"][0] |= changed
    (path / "MANIFEST.json").write_bytes(writer.sealed(json.dumps(body)[:-1].encode()))


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "../../secret"},
        {"name": "/etc/passwd"},
        {"name": ".."},
        {"name": "MANIFEST.json"},
        {"name": "ANCHOR"},
        {"name": ".hidden"},
        {"name": "a/b"},
        {"name": "x" * 300},
        {"name": 7},
        {"bytes": 2**63},
        {"bytes": 2**64},
        {"bytes": -1},
        {"bytes": 1e300},
        {"chunk_bytes": 0},
        {"chunk_bytes": 2**63},
        {"crc32c": []},
        {"crc32c": [2**32]},
        {"crc32c": "text"},
        {"rank": 1},
        {"rank": None},
    ],
    ids=str,
)
def test_manifests(changed: dict, tmp_path: Path, ckpt: Ckpt) -> None:
    (tmp_path / "secret").write_bytes(b"x" * 64)
    path = with_header(tmp_path / "ck", GOOD)
    ckpt("verify", path)
    change(path, **changed)
    error = refused(path, ckpt, tmp_path)
    assert "MANIFEST.json" in error
    ckpt("copy", path, tmp_path / "copy", code=2)
    ckpt("prune", tmp_path / "ck", "--last", 1)
    assert path.exists(), "what cannot be read is not removed"


def test_files_that_are_something_else(tmp_path: Path, ckpt: Ckpt) -> None:
    path = with_header(tmp_path / "ck", GOOD)
    shard = path / writer.shard_name(0)
    kept = tmp_path / "kept"
    shard.rename(kept)
    assert "missing" in refused(path, ckpt, tmp_path)
    shard.symlink_to(kept)
    assert "a link" in refused(path, ckpt, tmp_path)
    shard.unlink()
    shard.symlink_to("/dev/zero")
    refused(path, ckpt, tmp_path)
    shard.unlink()
    os.mkfifo(shard)
    refused(path, ckpt, tmp_path)
    shard.unlink()
    shard.mkdir()
    assert "a folder" in refused(path, ckpt, tmp_path)
    shard.rmdir()
    shard.write_bytes(kept.read_bytes()[:-1])
    assert "bytes, its manifest says" in refused(path, ckpt, tmp_path)
    shard.write_bytes(kept.read_bytes())
    ckpt("verify", path)
    for bad in (b"", b"{}", (path / "MANIFEST.json").read_bytes()[:-1], b"\xff" * 100):
        (path / "MANIFEST.json").write_bytes(bad)
        assert "MANIFEST.json" in refused(path, ckpt, tmp_path)


def test_prune_does_not_follow_links(tmp_path: Path, ckpt: Ckpt) -> None:
    elsewhere = with_header(tmp_path / "elsewhere", GOOD)
    folder = tmp_path / "ck"
    folder.mkdir()
    (folder / elsewhere.name).symlink_to(elsewhere)
    content = writer.safetensors_of(GOOD, DATA)
    new = writer.write_files(folder, 9, Facts(step=9), {"a.safetensors": (0, content)})
    ckpt("prune", folder, "--last", 1, "--damaged")
    assert new.exists() and (elsewhere / "MANIFEST.json").exists()
    (elsewhere / writer.shard_name(0)).unlink()
    ckpt("prune", folder, "--last", 1, "--damaged")
    assert (elsewhere / "MANIFEST.json").exists()


def test_a_version_of_the_future_is_not_removed(tmp_path: Path, ckpt: Ckpt) -> None:
    path = with_header(tmp_path / "ck", GOOD)
    text = (path / "MANIFEST.json").read_bytes().rsplit(b",\n", 1)[0]
    (path / "MANIFEST.json").write_bytes(
        writer.sealed(text.replace(b'"version": 1', b'"version": 3'))
    )
    assert "take a newer one" in ckpt("show", path, code=2).stderr
    content = writer.safetensors_of(GOOD, DATA)
    writer.write_files(tmp_path / "ck", 9, Facts(step=9), {"a.safetensors": (0, content)})
    ckpt("prune", tmp_path / "ck", "--last", 1, "--damaged")
    assert (path / "MANIFEST.json").exists()


def test_keys_that_are_not_known_are_ignored(tmp_path: Path, ckpt: Ckpt) -> None:
    content = writer.safetensors_of(GOOD, DATA)
    facts = Facts(extra={"later": {"deep": [1, 2]}})
    ckpt("verify", writer.write_files(tmp_path / "ck", 1, facts, {"a.safetensors": (0, content)}))
