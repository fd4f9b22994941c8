"""With a real torch: its directory, its blobs, its hits."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cache_command import Cache, read_tree
from free_ports import free_ports

ASK = ["--python", sys.executable]
SCRIPT = Path(__file__).parent / "scripts/compile_job.py"
TRAIN = SCRIPT.with_name("train_compiled.py")
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"  # of the keys of torch's caches
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="there is no torch here"
)


def compile_in(
    directory: Path,
    *arguments: object,
    job: str = "my job:7",
    more: dict[str, str] | None = None,
) -> dict[str, Any]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "HEADWAY"))}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        env=environment
        | {
            "TORCHINDUCTOR_CACHE_DIR": str(directory),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        }
        | ({"TORCH_COMPILE_JOB_ID": job} if job else {})
        | (more or {}),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def assert_all_hits(counters: dict[str, Any]) -> None:
    assert counters["aot_autograd"]["autograd_cache_hit"] >= 1, counters
    assert "autograd_cache_miss" not in counters["aot_autograd"], counters
    assert "fxgraph_cache_miss" not in counters["inductor"], counters


@dataclass
class Cold:
    directory: Path
    blob: Path


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Cold:
    folder = tmp_path_factory.mktemp("cold")
    made = Cold(folder / "cache", folder / "blob")
    compile_in(made.directory, "--save", made.blob, "--twice")
    return made


def chunks_of(blob: Path) -> list[tuple[str, list[tuple[str, bytes]]]]:
    """By torch's own reader, without its loss of repeated chunks."""
    from torch.utils._appending_byte_serializer import BytesReader

    reader = BytesReader(blob.read_bytes())
    assert reader.read_uint64() == 1
    found = []
    while not reader.is_finished():
        kind = reader.read_str()
        count = reader.read_uint64()
        found.append((kind, [(reader.read_str(), reader.read_bytes()) for _ in range(count)]))
    return found


def chunk_types(blob: Path) -> list[str]:
    return [kind for kind, _ in chunks_of(blob)]


def artifacts_of(blob: Path) -> list[tuple[str, str, bytes]]:
    return [(kind, *artifact) for kind, chunk in chunks_of(blob) for artifact in chunk]


def test_a_directory_elsewhere_is_warm(cache: Cache, cold: Cold, tmp_path: Path) -> None:
    packed = cache.json(
        "pack", cold.directory, "-o", tmp_path / "x.hwc", "--python", sys.executable
    )
    import torch

    assert packed["binding"]["torch"] == str(torch.__version__)
    assert packed["binding"]["torch_git"] == torch.version.git_version
    assert packed["binding"]["python"] == sys.implementation.cache_tag
    assert packed["unknown"] == packed["busy"] == 0
    to = tmp_path / "to"
    cache.run("unpack", tmp_path / "x.hwc", "--to", to, *ASK)
    libraries = {path for path in read_tree(to) if path.endswith(".so")}
    assert libraries
    counters = compile_in(to, "--save", tmp_path / "blob", "--twice")
    assert_all_hits(counters)
    # Nothing was compiled: every library was there.
    assert {path for path in read_tree(to) if path.endswith(".so")} == libraries


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """The same packages under another path, as a second environment has them."""
    import torch

    site = tmp_path / "other" / "site-packages"
    site.parent.mkdir()
    site.symlink_to(Path(torch.__file__).parents[1], target_is_directory=True)
    return site


def test_libraries_for_an_environment_at_another_path(
    cache: Cache, cold: Cold, elsewhere: Path, tmp_path: Path
) -> None:
    shelf, path = tmp_path / "shelf", {"PYTHONPATH": str(elsewhere)}
    cache.run("pack", cold.directory, "-o", tmp_path / "x.hwc", *ASK, "--relocatable")
    cache.run("push", tmp_path / "x.hwc", "--to", shelf)
    to = tmp_path / "to"
    cold_libraries = {path for path in read_tree(cold.directory) if path.endswith(".main.so")}
    there = ["--environment", elsewhere]
    done = cache.json("pull", shelf, "--to", to, *ASK, *there)
    assert not done["same_environment"]
    assert (done["rekeyed"], done["missed"]) == (len(cold_libraries), 0)
    libraries = {path for path in read_tree(to) if path.endswith(".main.so")}
    assert len(libraries) == len(cold_libraries) and not libraries & cold_libraries
    # torch, imported from there, finds all of them. What it compiles is at most its own question
    # whether the compiler knows an instruction set, which `headway run` does not let it ask.
    calls = tmp_path / "calls"
    counters = compile_in(to, "--twice", "--save", tmp_path / "b", more=path | spy(tmp_path, calls))
    assert_all_hits(counters)
    assert {path for path in read_tree(to) if path.endswith(".main.so")} == libraries
    compiled = calls.read_text().splitlines() if calls.exists() else []
    assert all(".main.so" not in call and "CPU_CAPABILITY" in call for call in compiled), compiled
    assert len(compiled) <= 1, compiled


def test_without_the_command_it_is_a_miss_that_is_told(
    cache: Cache, cold: Cold, elsewhere: Path, tmp_path: Path
) -> None:
    cache.run("pack", cold.directory, "-o", tmp_path / "x.hwc", *ASK)
    arguments = ["unpack", tmp_path / "x.hwc", *ASK, "--environment", elsewhere]
    said = cache.run(*arguments, "--to", tmp_path / "to").stderr
    assert "will be compiled again" in said and "--relocatable" in said and str(elsewhere) in said


def spy(folder: Path, calls: Path) -> dict[str, str]:
    """A g++ that tells when it compiles, first on the path."""
    real = shutil.which("g++")
    spy = folder / "bin" / "g++"
    spy.parent.mkdir()
    spy.write_text(
        f"""#!/bin/sh
case "$*" in *.cpp*) echo "$*" >> {calls} ;; esac
exec {real} "$@"
"""
    )
    spy.chmod(0o755)
    return {"PATH": f"{spy.parent}:{os.environ['PATH']}"}


def test_two_saves_are_united(cache: Cache, cold: Cold, tmp_path: Path) -> None:
    artifacts = artifacts_of(cold.blob)
    chunks = defaultdict(set)
    for kind, key, content in artifacts:
        chunks[kind].add((key, content))
    done = cache.json("import-mega", cold.blob, "-o", tmp_path / "x.hwc", *ASK)
    assert done["left_out"] == 0
    (archive,) = cache.json("ls", tmp_path / "x.hwc")["archives"]
    for kind in ("inductor", "aot_autograd"):
        assert archive["kinds"][kind]["entries"] == len(chunks[kind]), kind
    cache.run("export-mega", tmp_path / "x.hwc", "-o", tmp_path / "blob", "--unite")
    # One chunk a type: now torch loads all of it.
    assert len(chunk_types(tmp_path / "blob")) == len(set(chunk_types(tmp_path / "blob")))
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    counters = compile_in(fresh, "--load", tmp_path / "blob", "--save", tmp_path / "b", "--twice")
    assert_all_hits(counters)
    # torch's files of the blob are the archive's.
    cache.run("unpack", tmp_path / "x.hwc", "--to", tmp_path / "to")
    mine, theirs = read_tree(tmp_path / "to"), read_tree(fresh)
    assert {path for path in mine if not path.startswith("dynamo/")} <= theirs.keys()
    assert {path for path in mine if path.startswith("dynamo/")} <= theirs.keys()


def through_an_archive(cache: Cache, blob: Path, folder: Path) -> Path:
    cache.run("import-mega", blob, "-o", folder / "x.hwc", *ASK)
    cache.run("export-mega", folder / "x.hwc", "-o", folder / "again")
    return folder / "again"


def test_a_blob_of_one_save_comes_back_exactly(cache: Cache, cold: Cold, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    compile_in(cold.directory, "--save", blob, job="")
    assert {kind for kind, _, _ in artifacts_of(blob)} == {"inductor", "aot_autograd"}
    assert through_an_archive(cache, blob, tmp_path).read_bytes() == blob.read_bytes()


def test_a_blob_of_two_saves_comes_back_exactly(cache: Cache, cold: Cold, tmp_path: Path) -> None:
    def states(blob: Path) -> list[bytes]:
        found = artifacts_of(blob)
        return [content for _, key, content in found if key == "my job:7:None:"]

    # Several states of one job, in several chunks: what only the order tells.
    assert len(states(cold.blob)) > len(set(states(cold.blob)[-1:]))
    assert len(list(chunk_types(cold.blob))) > len(set(chunk_types(cold.blob)))
    again = through_an_archive(cache, cold.blob, tmp_path)
    assert again.read_bytes() == cold.blob.read_bytes()
    # The file is the last one's.
    cache.run("unpack", tmp_path / "x.hwc", "--to", tmp_path / "to")
    (state,) = (tmp_path / "to/dynamo").glob("code_state_*")
    assert state.read_bytes() == states(cold.blob)[-1]
    assert not (tmp_path / "to/mega").exists()


def of_another_torch(blob: Path, to: Path) -> set[str]:
    """The same blob with the keys that another torch would have: the version is in their digests.
    The new keys of graphs."""
    from torch.utils._appending_byte_serializer import BytesWriter

    writer = BytesWriter()
    writer.write_uint64(1)
    keys = set()
    for kind, chunk in chunks_of(blob):
        writer.write_str(kind)
        writer.write_uint64(len(chunk))
        for key, content in chunk:
            if kind in ("inductor", "aot_autograd"):
                key = key[0] + key[1:].translate(str.maketrans(LETTERS, LETTERS[1:] + LETTERS[0]))
                keys.add(key)
            writer.write_str(key)
            writer.write_bytes(content)
    to.write_bytes(writer.to_bytes())
    return keys


def test_a_blob_of_another_torch_is_never_found(cache: Cache, cold: Cold, tmp_path: Path) -> None:
    keys = of_another_torch(cold.blob, tmp_path / "blob")
    assert (
        cache.json("import-mega", tmp_path / "blob", "-o", tmp_path / "x.hwc", *ASK)["left_out"]
        == 0
    )
    to, empty = tmp_path / "to", tmp_path / "empty"
    cache.run("unpack", tmp_path / "x.hwc", "--to", to, *ASK)
    before = read_tree(to)
    assert keys and all(any(key in path for path in before) for key in keys)
    # Without a job's id: what a job has learned of shapes bears no version.
    told = [compile_in(each, job="") for each in (to, empty)]
    assert told[0] == told[1]
    assert told[0]["inductor"]["fxgraph_cache_miss"] >= 1
    assert told[0]["aot_autograd"]["autograd_cache_miss"] >= 1
    for counters in told:
        assert not {"fxgraph_cache_hit", "autograd_cache_hit"} & set(
            counters["inductor"] | counters["aot_autograd"]
        )
    # Both are there now, and the next start has its own.
    assert before.items() <= read_tree(to).items()
    again = compile_in(to, job="")
    assert_all_hits(again)
    assert again["results"] == told[0]["results"]


def train_as(
    directory: Path, out: Path, job: str, ranks: int | None = None
) -> list[dict[str, Any]]:
    """The counters of each rank of a training whose batches are never of the same size. `ranks`:
    none: without a process group."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "HEADWAY"))}
    kept |= {
        "TORCHINDUCTOR_CACHE_DIR": str(directory),
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        "TORCH_COMPILE_JOB_ID": job,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_ports(1)[0]),
        "WORLD_SIZE": str(ranks or 1),
    }
    command = [sys.executable, str(TRAIN), str(out), "--sizes", "4,5,6,7"]
    processes = [
        subprocess.Popen(
            command + (["--group"] if ranks is not None else []),
            env=kept | {"RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks or 1)
    ]
    for process in processes:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    places = [out.with_suffix(f".{rank}.json") for rank in range(ranks or 1)]
    return [json.loads(place.read_text())["counters"] for place in places]


def test_what_one_job_learned_each_rank_of_another_knows(cache: Cache, tmp_path: Path) -> None:
    (alone,) = train_as(tmp_path / "a", tmp_path / "alone", "monday:1")
    assert alone["stats"]["unique_graphs"] == 2  # for one size, then for all
    cache.run("pack", tmp_path / "a", "-o", tmp_path / "x.hwc", *ASK)
    graphs = []
    for name, options in (
        ("as it is", []),
        ("given", ["--pgo-job", "monday:1=tuesday:2", "--pgo-ranks", 2]),
    ):
        to = tmp_path / name
        cache.run("unpack", tmp_path / "x.hwc", "--to", to, *ASK, *options)
        told = train_as(to, tmp_path / "b", "tuesday:2", ranks=2)
        graphs.append([rank["stats"]["unique_graphs"] for rank in told])
    assert graphs == [[2, 2], [1, 1]]


def test_a_blob_of_a_packed_directory(cache: Cache, cold: Cold, tmp_path: Path) -> None:
    cache.run("pack", cold.directory, "-o", tmp_path / "x.hwc", *ASK)
    done = cache.json("export-mega", tmp_path / "x.hwc", "-o", tmp_path / "blob")
    assert done["artifacts"] > 0 and done["left_out"] > 0
    assert "pgo" in {kind for kind, _, _ in artifacts_of(tmp_path / "blob")}
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    counters = compile_in(fresh, "--load", tmp_path / "blob", "--save", tmp_path / "b", "--twice")
    assert_all_hits(counters)
    states = [path for path in read_tree(fresh) if path.startswith("dynamo/code_state_")]
    assert states == [path for path in read_tree(cold.directory) if path in states]
