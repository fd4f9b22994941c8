"""What python/headway/_compile leaves out changes no key, and is done when it is needed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("HEADWAY_PYTHON", ROOT / "build/python")).absolute()
SCRIPT = Path(__file__).parent / "scripts/train_compiled.py"
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="there is no torch here"
)


def start(host: Path, directory: Path, shim: bool, code: str = "") -> str:
    """On a host that has no precompiled header."""
    host.mkdir(exist_ok=True)
    dropped = ("HEADWAY", "TORCH", "PYTHON", "XDG_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    environment |= {
        "TMPDIR": str(host),
        "TORCHINDUCTOR_CACHE_DIR": str(directory),
        "PYTHONPATH": f"{PACKAGE / 'headway/_hook'}:{PACKAGE}",
        "HEADWAY_DIR": str(host / "jobs"),
        "HEADWAY_JOB": "job",
        "HEADWAY_ATTEMPT": "1",
        "HEADWAY_DEBUG": "1",
    }
    if shim:
        environment["HEADWAY_WARM_COMPILE"] = "1"
    command = [sys.executable, "-c", code] if code else [sys.executable, SCRIPT, host / "out"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "headway:" not in done.stderr
    return done.stdout


def names(directory: Path) -> set[str]:
    """Of all that is found by its key; what only Headway puts there left out."""
    return {
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_file() and not path.name.startswith("headway-") and "locks" not in path.parts
    }


def headers(host: Path) -> list[Path]:
    return list(host.rglob("*.gch"))


def test_keys_are_the_same_and_the_header_waits(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    start(tmp_path / "h1", plain, shim=False)
    start(tmp_path / "h2", ours, shim=True)
    keyed = {name for name in names(plain) if not name.startswith(("fxgraph", "aotautograd"))}
    assert keyed == {n for n in names(ours) if not n.startswith(("fxgraph", "aotautograd"))}
    # Graphs have a digest of their content behind the key, and the times of compiling in it.
    keys = [{name.rpartition("/")[0] for name in names(d)} for d in (plain, ours)]
    assert keys[0] == keys[1]
    # Something was compiled: the header was made, as without us.
    assert headers(tmp_path / "h1") and headers(tmp_path / "h2")
    before = names(ours)
    start(tmp_path / "h3", ours, shim=True)
    assert names(ours) == before
    assert not headers(tmp_path / "h3")
    # The other way round, too: what was made with the shim is found without it, and built on.
    start(tmp_path / "h4", ours, shim=False)
    assert names(ours) == before
    out = json.loads((tmp_path / "h3/out.0.json").read_text())
    assert out["losses"] == json.loads((tmp_path / "h1/out.0.json").read_text())["losses"]
    assert "fxgraph_cache_miss" not in out["counters"]["inductor"]


ASK_KEY = """
import torch._inductor.codecache as c
print(c.torch_key().hex())
"""


def test_the_sources_key_is_torchs_own(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    plain = start(tmp_path / "h", directory, shim=False, code=ASK_KEY)
    for _ in range(2):  # found out, and kept
        assert start(tmp_path / "h", directory, shim=True, code=ASK_KEY) == plain
    (kept,) = (directory / "cache").glob("headway-key-*")
    assert kept.read_text() == plain.strip()
    for bad in ("", "00", "x" * 64):
        kept.write_text(bad)
        assert start(tmp_path / "h", directory, shim=True, code=ASK_KEY) == plain


def stamp(folder: Path) -> str:
    code = f"""
import sys
sys.path.insert(0, {str(PACKAGE)!r})
from headway._compile.source_key import stamp_of
print(stamp_of({str(folder / "torch")!r}, "1.0"))
"""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_a_changed_source_changes_the_stamp(tmp_path: Path) -> None:
    def install(name: str, second: int) -> Path:
        folder = tmp_path / name
        (folder / "torch/sub").mkdir(parents=True)
        (folder / "torch-1.0.dist-info").mkdir()
        files = ["torch/__init__.py", "torch/sub/__init__.py", "torch/sub/a.py"]
        for file in [*files, "torch-1.0.dist-info/RECORD"]:
            (folder / file).write_text(file)
            os.utime(folder / file, (second, second))
        return folder

    one, two = install("one", 1000), install("two", 2000)
    assert stamp(one) == stamp(two)  # the same wheel, elsewhere and later
    source = one / "torch/sub/a.py"
    source.write_text("torch/sub/B.py")  # as long as before
    assert stamp(one) != stamp(two)
    os.utime(source, (1000, 1000))
    assert stamp(one) == stamp(two)  # a time that was set back is not seen: docs/cache.md says so
    source.write_text("longer than before")
    os.utime(source, (1000, 1000))
    assert stamp(one) != stamp(two)
    (two / "torch/new.py").write_text("")
    os.utime(two / "torch/new.py", (2000, 2000))
    assert stamp(two) != stamp(install("three", 2000))


WRONG_PROBE = """
import os
import torch
from torch._inductor import cpu_vec_isa as isa
real = isa.VecISA._probe_load
assert bool(isa.pick_vec_isa())  # as kept
isa.VecISA._probe_load = lambda self, path: False  # this machine cannot, after all
torch.compile(lambda x: x.sin() + 1)(torch.ones(64))
print(bool(isa.pick_vec_isa()), len(os.listdir(os.environ["TORCHINDUCTOR_CACHE_DIR"] + "/cache")))
"""


def test_a_kept_answer_that_is_wrong_is_taken_back(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    ask = "from torch._inductor import cpu_vec_isa as isa; print(bool(isa.pick_vec_isa()))"
    if start(tmp_path / "h", directory, shim=True, code=ask).strip() != "True":
        pytest.skip("no vector instructions here")
    kept = list((directory / "cache").glob("headway-isa-*"))
    assert kept
    said = start(tmp_path / "h", directory, shim=True, code=WRONG_PROBE)
    assert said.startswith("False")
    assert not any(path.exists() for path in kept)
