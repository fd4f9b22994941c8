"""The verbs of `headway ckpt`, on checkpoints written by hand from docs/formats/checkpoint.md."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkpoint_writer as writer
import numpy as np
import pytest
import torch
import torch.distributed.checkpoint as dcp
from checkpoint_writer import Facts, Piece
from ckpt_command import HEADWAY, Ckpt
from safetensors import safe_open
from torch.distributed.checkpoint import HuggingFaceStorageReader

HOUR_NS = 3_600_000_000_000
Tensors = dict[str, np.ndarray]
AskJson = Callable[..., Any]


def read_whole(folder: Path) -> Tensors:
    """By the index, with the safetensors library."""
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    out = {}
    for name, file in index["weight_map"].items():
        with safe_open(folder / file, framework="np") as opened:
            out[name] = opened.get_tensor(name)
    assert index["metadata"]["total_size"] == sum(a.nbytes for a in out.values())
    return out


def read_by_torch(folder: Path, like: Tensors) -> Tensors:
    """Whole tensors, put together by torch.distributed.checkpoint."""
    state = {
        # Full of something else, so that what is not loaded shows.
        name: torch.full(a.shape, 1, dtype=torch.from_numpy(a).dtype)
        for name, a in like.items()
        if a.size > 0
    }
    dcp.load(state, storage_reader=HuggingFaceStorageReader(str(folder)), no_dist=True)
    return {name: tensor.numpy() for name, tensor in state.items()}


def assert_same(found: Tensors, wanted: Tensors) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype, name
        assert found[name].shape == array.shape, name
        assert found[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("cut", [writer.rows, writer.columns])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_restore_is_what_was_saved(
    cut: Callable, ranks: int, tensors: Tensors, tmp_path: Path, ckpt: Ckpt
) -> None:
    path = writer.write(tmp_path / "ck", 1, Facts(), cut(tensors, ranks))
    ckpt("verify", path)
    ckpt("restore-to", tmp_path / "ck", tmp_path / "out", "--max-shard", "2KB")
    assert_same(read_whole(tmp_path / "out"), tensors)
    assert len(list((tmp_path / "out").glob("*.safetensors"))) > 2
    loaded = {n: a for n, a in tensors.items() if a.size > 0}
    assert_same(read_by_torch(tmp_path / "out", tensors), loaded)
    # The sharded folder itself, without us.
    assert_same(read_by_torch(path, tensors), loaded)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_from_n_ranks_to_m(
    n: int, m: int, tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    writer.write(tmp_path / "ck", 1, Facts(), writer.rows(tensors, n))
    done = ckpt_json("restore-to", tmp_path / "ck", tmp_path / "other", "--ranks", m)
    path = Path(done["path"])
    assert path == tmp_path / "other/step-00000100-000001"
    shown = ckpt_json("show", path)
    assert shown["world_size"] == m and shown["data"] == 102_400 and shown["job"] == "nightly"
    assert [file["rank"] for file in shown["files"]] == list(range(m))
    ckpt("verify", path)
    assert ckpt_json("diff", tmp_path / "ck", path)["same_tensors"]
    assert_same(read_by_torch(path, tensors), {k: a for k, a in tensors.items() if a.size > 0})
    rows_each = -(-37 // m)
    for rank in range(m):
        with safe_open(path / writer.shard_name(rank), framework="np") as opened:
            part = tensors["model.embed.weight"][rank * rows_each : (rank + 1) * rows_each]
            assert opened.get_tensor("model.embed.weight").tobytes() == part.tobytes()
    ckpt("restore-to", path, tmp_path / "out")
    assert_same(read_whole(tmp_path / "out"), tensors)


def test_only_a_prefix(tensors: Tensors, tmp_path: Path, ckpt: Ckpt) -> None:
    writer.write(tmp_path / "ck", 1, Facts(), writer.rows(tensors, 2))
    ckpt("restore-to", tmp_path / "ck", tmp_path / "out", "--only", "model.")
    assert_same(
        read_whole(tmp_path / "out"), {k: a for k, a in tensors.items() if k.startswith("model.")}
    )
    done = ckpt("restore-to", tmp_path / "ck", tmp_path / "none", "--only", "modle.", code=2)
    assert "no tensor's name begins with modle." in done.stderr
    done = ckpt("restore-to", tmp_path / "ck", tmp_path / "out", code=2)
    assert "is there already" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ck", "out"]


def test_files_without_tensors_go_along(tensors: Tensors, tmp_path: Path, ckpt_json: AskJson):
    pieces = writer.rows(tensors, 2)
    contents = {writer.shard_name(r): (r, writer.safetensors(pieces[r])) for r in range(2)}
    contents |= {"rng-0.json": (0, b"{}"), "rng-1.json": (1, b"[1]")}
    writer.write_files(tmp_path / "ck", 1, Facts(world_size=2), contents)
    done = ckpt_json("restore-to", tmp_path / "ck", tmp_path / "other", "--ranks", 1)
    assert done["left_out"] == ["rng-1.json"]
    assert (Path(done["path"]) / "rng-0.json").read_bytes() == b"{}"
    done = ckpt_json("restore-to", tmp_path / "ck", tmp_path / "out")
    assert done["left_out"] == ["rng-0.json", "rng-1.json"]
    done = ckpt_json("copy", tmp_path / "ck", tmp_path / "copy")
    assert (Path(done["path"]) / "rng-1.json").read_bytes() == b"[1]"


def regions(path: Path) -> list[tuple[str, int]]:
    """(file, byte) in every region: length, header, padding, each chunk, the last byte."""
    found = []
    for file in sorted(path.iterdir()):
        size = file.stat().st_size
        places = {0, 3, 7, 8, 9, 60, 4000, 4095, size - 2, size - 1, size // 2}
        if file.name == "MANIFEST.json":
            places = set(range(0, size, 17)) | {size - 1, size - 12}
        else:
            places |= set(range(4096, size, 1500))
        found += [(file.name, place) for place in sorted(places) if 0 <= place < size]
    return found


def test_no_flipped_bit_passes(tensors: Tensors, tmp_path: Path, ckpt: Ckpt) -> None:
    path = writer.write(tmp_path / "ck", 1, Facts(), writer.rows(tensors, 2))
    places = regions(path)
    assert len(places) > 50
    for number, (name, at) in enumerate(places):
        content = bytearray((path / name).read_bytes())
        content[at] ^= 1 << number % 8
        original = (path / name).read_bytes()
        (path / name).write_bytes(content)
        found = ckpt("verify", path, code=1)
        assert name in found.stdout, (name, at, found.stdout)
        if name != "MANIFEST.json":
            assert f"chunk {at // 4096}, bytes {at // 4096 * 4096} to " in found.stdout
        for out in (["out"], ["out", "--ranks", "1"]):
            ckpt("restore-to", path, tmp_path / out[0], *out[1:], code=2)
        ckpt("copy", path, tmp_path / "copy", code=2)
        assert not list(tmp_path.glob("out/step-*")) and not list(tmp_path.glob("copy/step-*"))
        assert not list(tmp_path.glob("out/*.safetensors")), (name, at)
        assert not list(tmp_path.rglob("*partial*")) + list(tmp_path.rglob(".draft-*"))
        (path / name).write_bytes(original)
        for folder in ("out", "copy"):
            (tmp_path / folder / ".lock").unlink(missing_ok=True)
            if (tmp_path / folder).exists():
                (tmp_path / folder).rmdir()
    ckpt("verify", path)


def test_ls(tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson) -> None:
    folder = tmp_path / "ck"
    now = time.time_ns()
    for i, step in enumerate([100, 200, 150]):
        facts = Facts(step=step, time_ns=now - (3 - i) * HOUR_NS)
        writer.write(folder, i + 1, facts, writer.rows(tensors, 2))
    (folder / "step-00000160-000004").mkdir()
    (folder / "somebody's").mkdir()
    second = folder / "step-00000200-000002"
    ckpt("anchor", second, "--note", "the best one")
    (second / writer.shard_name(1)).write_bytes(b"short")
    listed = ckpt_json("ls", folder)["checkpoints"]
    assert [(c["step"], c["state"], c["anchor"]) for c in listed] == [
        (160, "unfinished", False),
        (150, "good", False),
        (200, "damaged", True),
        (100, "good", False),
    ]
    assert listed[1]["world_size"] == 2 and listed[1]["time_ns"] == now - HOUR_NS
    assert "5 bytes, its manifest says" in listed[2]["why"]
    lines = ckpt("ls", folder).stdout.splitlines()
    assert "3 checkpoints" in lines[0] and "1 bad" in lines[0]
    (row,) = (line for line in lines if "step-00000150-000003" in line)
    assert row.split()[1:4] == ["150", "1h", "00m"] and "newest" in row and " good" in row
    (row,) = (line for line in lines if "step-00000200-000002" in line)
    assert "damaged" in row and "anchor: the best one" in row
    # A flipped bit is seen by --deep only.
    third = folder / "step-00000150-000003" / writer.shard_name(0)
    content = bytearray(third.read_bytes())
    content[5000] ^= 1
    third.write_bytes(content)
    assert ckpt_json("ls", folder)["checkpoints"][1]["state"] == "good"
    assert ckpt_json("ls", folder, "--deep")["checkpoints"][1]["state"] == "damaged"
    assert "0 checkpoints" in ckpt("ls", tmp_path).stdout
    assert "not a folder of them" in ckpt("ls", second, code=2).stderr
    ckpt("ls", tmp_path / "nowhere", code=2)


def test_what_a_path_may_be(tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson):
    folder = tmp_path / "ck"
    old = writer.write(folder, 1, Facts(step=1), writer.rows(tensors, 1))
    new = writer.write(folder, 2, Facts(step=2), writer.rows(tensors, 1))
    assert ckpt_json("show", folder)["step"] == 2
    assert ckpt_json("show", str(folder) + "/")["step"] == 2
    assert ckpt_json("show", folder / "LATEST")["step"] == 2
    assert ckpt_json("show", old)["step"] == 1
    (folder / "LATEST").write_text(old.name + "\n")
    assert ckpt_json("show", folder / "LATEST")["step"] == 1
    (folder / "step-00000003-000003").mkdir()
    assert ckpt("show", folder).stderr == "", "what never was one is not worth a word"
    (new / writer.shard_name(0)).unlink()
    shown = ckpt("show", folder, "--json")
    assert json.loads(shown.stdout)["step"] == 1
    assert "passed over" in shown.stderr and "missing" in shown.stderr
    other = tmp_path / "moved"
    old.rename(other)
    assert ckpt_json("show", other)["step"] == 1
    assert "none of its 1 checkpoints is good" in ckpt("show", folder, code=2).stderr
    for text in ("../moved\n", "", "step-00000001-000001/../../moved"):
        (folder / "LATEST").write_text(text)
        assert "names no checkpoint" in ckpt("show", folder / "LATEST", code=2).stderr
    assert "neither a checkpoint" in ckpt("show", tmp_path, code=2).stderr
    for arguments in (["show", "s3://b/ck"], ["anchor", "s3://b"]):
        assert (
            "only `headway ckpt copy`, `ls` and `verify` read s3://"
            in ckpt(*arguments, code=2).stderr
        )


def test_show(tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson) -> None:
    values = np.array([[1.5, -2, np.nan], [np.inf, 0, 4]], dtype=np.float32)
    brain = np.array([0x3F80, 0xC000, 0x7FC0, 0xFF80], dtype=np.uint16)  # 1, -2, nan, -inf
    layers = [Piece(f"m.layers.{i}.w", np.ones((4, 8), np.float32), (0, 0)) for i in range(9)]
    ranks = [
        [Piece("values", values[:1], (0, 0)), Piece("brain", brain, (0,), "BF16"), *layers],
        [Piece("values", values[1:], (1, 0))],
    ]
    writer.write(tmp_path / "ck", 1, Facts(), ranks)
    shown = ckpt_json("show", tmp_path / "ck", "values")
    assert (shown["min"], shown["max"], shown["mean"]) == (-2, 4, 0.875)
    assert (shown["nan"], shown["inf"], shown["zero"], shown["count"]) == (1, 1, 1, 6)
    assert [(p["rank"], p["offsets"]) for p in shown["pieces"]] == [(0, [0, 0]), (1, [1, 0])]
    shown = ckpt_json("show", tmp_path / "ck", "brain")
    assert (shown["dtype"], shown["min"], shown["max"], shown["nan"], shown["inf"]) == (
        "BF16",
        -2,
        1,
        1,
        1,
    )
    text = ckpt("show", tmp_path / "ck").stdout
    assert "m.layers.*.w" in text and "\u00d7 9" in text and "F32 [4, 8]" in text
    assert "11 tensors" in text and "attempt 2" in text
    assert text.index("m.layers.*.w") < text.index("values"), "the largest first"
    assert "m.layers.7.w" in ckpt("show", tmp_path / "ck", "--all").stdout
    assert "[1:2, 0:3]" in ckpt("show", tmp_path / "ck", "values").stdout
    assert "did you mean values?" in ckpt("show", tmp_path / "ck", "valeus", code=2).stderr


def test_diff(tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson) -> None:
    a = writer.write(tmp_path / "a", 1, Facts(), writer.rows(tensors, 3))
    same = writer.write(tmp_path / "s", 1, Facts(), writer.columns(tensors, 2))
    diff = ckpt_json("diff", a, same)
    assert diff["same_tensors"] and diff["same"] == len(tensors)
    assert diff["facts"] == {"world_size": {"a": "3", "b": "2"}}
    other = {name: array.copy() for name, array in tensors.items()}
    other["model.embed.weight"][17, 5] += 0.5
    other["model.embed.weight"][20, 0] = np.nan
    other["model.layers.0.weight"][2, 299] += np.float16(8)
    other["model.bias"] = other["model.bias"].astype(np.float32)
    other["optim.mask"] = np.concatenate([other["optim.mask"]] * 2)
    other["new"] = other.pop("optim.step")
    b = writer.write(tmp_path / "b", 1, Facts(step=200), writer.rows(other, 2))
    diff = ckpt_json("diff", a, b, code=1)
    assert diff["only_a"] == ["optim.step"] and diff["only_b"] == ["new"]
    assert {k["name"]: k["b"] for k in diff["kinds"]} == {
        "model.bias": "F32 [9]",
        "optim.mask": "BOOL [2, 6]",
    }
    embed, layer = diff["values"]
    assert (embed["name"], embed["differing"], embed["not_finite"]) == ("model.embed.weight", 2, 1)
    assert embed["first"] == [17, 5] and embed["max_abs"] == pytest.approx(0.5)
    assert (layer["differing"], layer["first"]) == (1, [2, 299])
    assert layer["max_abs"] == pytest.approx(8, abs=0.01)
    assert diff["facts"]["step"] == {"a": "100", "b": "200"}
    text = ckpt("diff", a, b, code=1).stdout
    for part in ("only in a", "optim.step", "F64 [9]", "[17, 5]", "1 nan or inf", "2 of 444"):
        assert part in text, part


def document(**parts: object) -> dict[str, np.ndarray[Any, Any]]:
    text = json.dumps({"version": 1, "parts": parts, "cadence": [time.time()]}).encode()
    return {"headway.rank-00000": np.frombuffer(text.ljust(4096), np.uint8)}


def test_what_is_no_tensor_is_shown_and_compared(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    weight = {"w": {"$tensor": "model.bias"}}
    before = document(model=weight, values={"best": 0.5, "seen": [1, {}]})
    after = document(model=weight, values={"best": 0.25, "seen": [1, {}], "new": "x"})
    a = writer.write(tmp_path / "a", 1, Facts(), writer.rows({**tensors, **before}, 1))
    b = writer.write(tmp_path / "b", 1, Facts(), writer.rows({**tensors, **after}, 1))
    shown = ckpt("show", a, "headway.rank-00000").stdout
    values = {"best": 0.5, "seen": [1, {}]}
    assert json.loads(shown) == {"$checkpoint": str(a), "values": values}
    told = ckpt_json("show", a.parent, "headway.rank-00000")
    assert "parts" in told and told["path"] == str(a)
    assert "ckpt show PATH headway.rank-00000" in ckpt("show", a).stdout
    diff = ckpt_json("diff", a, b, code=1)
    assert [(d["name"], d["a"], d["b"]) for d in diff["documents"]] == [
        ("values.best", "0.5", "0.25"),
        ("values.new", "", '"x"'),
    ]
    text = ckpt("diff", a, b, code=1).stdout
    assert "values.best  0.5 → 0.25" in text and "1 not" in text
    ckpt("diff", a, b, "--only", "model.")
    same = writer.write(tmp_path / "s", 1, Facts(), writer.rows({**tensors, **before}, 1))
    ckpt("diff", a, same)
    for bad in (b"{", b"[" * 4096, b'{"parts": 3}'):
        state = {"headway.rank-00000": np.frombuffer(bad.ljust(4096), np.uint8)}
        path = writer.write(tmp_path / f"bad-{len(bad)}", 1, Facts(), writer.rows(state, 1))
        assert "not the state of a rank" in ckpt("show", path, "headway.rank-00000", code=2).stderr
        assert "not the state of a rank" in ckpt("diff", path, path, code=2).stderr


def test_diff_tells_parts_and_only_random_numbers(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    def at(name: str, seed: int, best: float = 0.5) -> Path:
        drawn = base64.b64encode(bytes([seed] * 2500)).decode()
        state = document(
            values={"best": best},
            loader={"epoch": 1, "pass": {"before": {"process": {"python": {"$bytes": drawn}}}}},
        )
        rng = {
            "rng.python": np.full(625, seed, np.uint32),
            "rank-00001.rng.python": np.full(625, seed + 1, np.uint32),
        }
        rows = writer.rows({**tensors, **rng, **state}, 1)
        return writer.write(tmp_path / name, 1, Facts(), rows)

    a, other, changed = at("a", 1), at("b", 2), at("c", 2, best=0.25)
    text = ckpt("diff", a, other, code=1).stdout
    assert re.search(r"^  differ +random numbers \(2 tensors, 1 value\)$", text, re.MULTILINE), text
    assert re.search(r"^  equal +loader, model, optim, values$", text, re.MULTILINE), text
    squeezed = text.replace("\u202f", " ").replace("\u00a0", " ")
    assert "loader.pass.before.process.python  2 500 bytes → as many others" in squeezed, text
    assert "Only random numbers differ" in text and "--only model. compares" in text
    assert "AQEB" not in text and "AgIC" not in text
    ckpt("diff", a, other, "--only", "model.")
    parts = ckpt_json("diff", a, changed, code=1)["parts"]
    assert parts["differ"] == ["random numbers", "values"] and "model" in parts["equal"]
    text = ckpt("diff", a, changed, code=1).stdout
    assert "Only random numbers" not in text and "values (1 value)" in text
    assert "differ " not in ckpt("diff", a, a).stdout


def test_copy(tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson) -> None:
    writer.write(tmp_path / "ck", 7, Facts(), writer.rows(tensors, 2))
    done = ckpt_json("copy", tmp_path / "ck", tmp_path / "deep/er", "--anchor")
    assert done["copied"] and Path(done["path"]).name == "step-00000100-000001"
    assert (tmp_path / "deep/er/LATEST").read_text() == "step-00000100-000001\n"
    assert ckpt_json("ls", tmp_path / "deep/er")["checkpoints"][0]["anchor"]
    ckpt("verify", tmp_path / "deep/er")
    ckpt("diff", tmp_path / "ck", tmp_path / "deep/er")
    assert "a checkpoint itself" in ckpt("copy", tmp_path / "ck", done["path"], code=2).stderr
    # A copy of the copy has the same chunks: it is known again.
    assert ckpt_json("copy", done["path"], tmp_path / "third")["copied"]
    again = ckpt_json("copy", done["path"], tmp_path / "third")
    assert not again["copied"] and len(list((tmp_path / "third").glob("step-*"))) == 1
    for change in (b"\xff", b""):  # a damaged copy is none, whatever its size
        shard = Path(again["path"]) / writer.shard_name(0)
        shard.write_bytes(shard.read_bytes()[:-1] + change)
        again = ckpt_json("copy", done["path"], tmp_path / "third")
        assert again["copied"]
        ckpt("verify", again["path"])


def test_where_the_newest_turns_out_to_be_damaged_it_is_the_next(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    folder = tmp_path / "ck"
    old = writer.write(folder, 1, Facts(step=1), writer.rows(tensors, 1))
    new = writer.write(folder, 2, Facts(step=2), writer.rows(tensors, 1))
    writer.flip(new)
    for arguments in (
        ("copy", folder, tmp_path / "copy"),
        ("restore-to", folder, tmp_path / "out"),
        ("restore-to", folder, tmp_path / "of-two", "--ranks", 2),
        ("show", folder, last_tensor(new)),
        ("diff", folder, old),
        ("diff", old, folder),
        ("anchor", folder),
    ):
        done = ckpt(*arguments)
        assert "passed over" in done.stderr and "chunk" in done.stderr, arguments
    assert ckpt_json("ls", tmp_path / "copy")["checkpoints"][0]["step"] == 1
    assert ckpt_json("ls", folder)["checkpoints"][1]["anchor"]
    refused = ckpt("copy", new, tmp_path / "copy", code=2)
    assert "passed over" not in refused.stderr, "it was named: nothing else is meant"
    writer.flip(old)
    for verb in ("copy", "restore-to"):
        refused = ckpt(verb, folder, tmp_path / f"no-{verb}", code=2)
        assert "none of its 2 checkpoints is good" in refused.stderr
        assert not list(tmp_path.glob(f"no-{verb}/step-*"))


def test_show_says_of_which_checkpoint_a_tensor_is(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    folder = tmp_path / "ck"
    state = {**tensors, **document(values={"best": 2**127 + 1})}
    old = writer.write(folder, 1, Facts(step=1), writer.rows(state, 1))
    new = writer.write(folder, 2, Facts(step=2), writer.rows(state, 1))
    for path in (new, old):
        for name in ("model.bias", "headway.rank-00000"):
            assert str(path) in ckpt("show", folder, name).stdout
            assert ckpt_json("show", folder, name)["path"] == str(path)
        told = ckpt_json("show", folder, "headway.rank-00000")
        assert told["parts"]["values"]["best"] == 2**127 + 1, "and nothing is rounded"
        assert ckpt_json("show", folder, "model.bias")["step"] == int(path.name[5:13])
        (path / writer.shard_name(0)).unlink()


def test_going_back_to_an_older_one(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    folder = tmp_path / "ck"
    old = writer.write(folder, 1, Facts(step=10), writer.rows(tensors, 1))
    writer.write(folder, 2, Facts(step=320), writer.rows(tensors, 1))
    assert "was there already" in ckpt("copy", old, folder).stdout
    again = ckpt_json("copy", old, folder, "--newest")
    assert again["copied"] and not ckpt_json("copy", again["path"], folder, "--newest")["copied"]
    assert [c["step"] for c in ckpt_json("ls", folder)["checkpoints"]] == [10, 320, 10]
    assert (folder / "LATEST").read_text() == "step-00000010-000003\n"
    planned = ckpt("prune", folder, "--last", 1, "--dry-run").stdout
    assert "though of a later step: step 10 came in after it" in planned
    assert "--newest is for" in ckpt("copy", old, "s3://bucket/x", "--newest", code=2).stderr


def test_one_without_its_manifest_is_damage(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    folder = tmp_path / "ck"
    paths = [writer.write(folder, i, Facts(step=i), writer.rows(tensors, 1)) for i in range(1, 4)]
    draft = folder / ".draft-step-00000004-000004"
    draft.mkdir()
    (draft / writer.shard_name(0)).write_bytes(b"half")
    assert ".draft" not in ckpt("verify", folder).stdout, "not yet one"
    (paths[1] / "MANIFEST.json").unlink()
    lines = ckpt("verify", folder, code=1).stdout.splitlines()
    (line,) = (line for line in lines if paths[1].name in line)
    assert "unfinished" in line and "no MANIFEST.json" in line and "prune" in line
    assert sum(" good " in line for line in lines) == 2
    told = ckpt_json("verify", folder, code=1)
    assert not told["good"]
    (one,) = (each for each in told["checkpoints"] if not each["good"])
    assert one["path"] == str(paths[1]) and one["unfinished"]
    assert "unfinished" in ckpt("verify", paths[1], code=1).stdout
    (folder / "LATEST").write_text(paths[1].name + "\n")
    assert "unfinished" in ckpt("verify", folder / "LATEST", code=1).stdout
    assert paths[2].name in ckpt("verify", folder, code=1).stdout


def last_tensor(path: Path) -> str:
    """The name of the one whose bytes end a file."""
    with safe_open(path / writer.shard_name(0), "np") as file:
        return str(file.offset_keys()[-1])


def test_what_machines_are_writing_is_no_checkpoint(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt, ckpt_json: AskJson
) -> None:
    """Not even when its manifest is there and only the name is missing."""
    folder = tmp_path / "ck"
    small = {"model.bias": tensors["model.bias"]}
    for i in (1, 2):
        writer.write(folder, i, Facts(step=i), writer.rows(small, 1))
    parts = folder / ".parts-1-3-00000000000000ff"
    parts.mkdir()
    for path in (folder / "step-00000002-000002").iterdir():
        (parts / path.name).write_bytes(path.read_bytes())
    (parts / "part-00001.json").write_bytes((parts / "MANIFEST.json").read_bytes())
    before = sorted(path.name for path in parts.iterdir())
    names = [each["name"] for each in ckpt_json("ls", folder)["checkpoints"]]
    assert names == ["step-00000002-000002", "step-00000001-000001"]
    (parts / "MANIFEST.json").write_text("damaged")
    ckpt("verify", folder)
    assert ckpt_json("show", folder)["step"] == 2
    removed = ckpt_json("prune", folder, "--last", 1)["removed"]
    assert [each["name"] for each in removed] == ["step-00000001-000001"]
    assert sorted(path.name for path in parts.iterdir()) == before, "it is somebody's"


def test_help_and_near_misses(ckpt: Ckpt) -> None:
    assert "restore-to" in ckpt("--help").stdout
    for verb in ("ls", "show", "verify", "diff", "anchor", "prune", "copy", "restore-to"):
        assert "headway ckpt " + verb in ckpt(verb, "--help").stdout
    assert "did you mean `verify`?" in ckpt("verfy", code=2).stderr
    done = ckpt("ls", "--depe", code=2).stderr
    assert "--deep" in done and "headway ckpt ls --help" in done
    ckpt(code=2)


def test_output_that_cannot_be_written(tensors: Tensors, tmp_path: Path) -> None:
    writer.write(tmp_path / "ck", 1, Facts(), writer.rows(tensors, 1))
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [HEADWAY, "ckpt", "ls", tmp_path / "ck"], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 2 and b"standard output" in done.stderr


def test_what_is_said_of_numbers_files_and_attempts(
    tensors: Tensors, tmp_path: Path, ckpt: Ckpt
) -> None:
    folder = tmp_path / "ck"
    rows = writer.rows(tensors, 1)
    one, two = (
        writer.write(folder, i, Facts(step=i, attempt=a), rows) for i, a in ((1, 1), (2, 2))
    )
    later = writer.write(folder, 3, Facts(step=3, attempt=2 * 65536 + 1), rows)
    said = ckpt("ls", folder, "--last", 0, code=2).stderr
    assert "want a number above 0" in said and len(said) < 200, said
    (tmp_path / "train.py").write_text("x")
    said = ckpt("show", tmp_path / "train.py", code=2).stderr
    assert "train.py: a file, and not a checkpoint" in said
    assert "1 → 2" in ckpt("diff", one, two, code=0).stdout
    assert "1.1 → 3.1" in ckpt("diff", one, later, code=0).stdout
    assert "attempt 3.1" in ckpt("show", later).stdout
