"""headway cache push, pull and gc with a real object store."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from store_stage import BUCKET, Server, Tool

BOUND = ["--torch", "2.13.0", "--python-tag", "cpython-311", "--environment", "/venv"]


def cache(tool: Tool, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    return tool.headway("cache", *arguments, code=code)


def pack(tool: Tool, folder: Path, name: str) -> Path:
    (folder / name / "ab").mkdir(parents=True)
    (folder / name / "ab" / f"c{name}.py").write_text(f"# {name}\n" * 1000)
    out = folder / f"{name}.hwc"
    cache(tool, "pack", folder / name, "-o", out, *BOUND, "--family", "ctr")
    return out


def test_push_pull_and_gc(tool: Tool, server: Server, tmp_path: Path) -> None:
    cache(tool, "keygen")
    place = f"s3://{BUCKET}/caches/shared"
    arguments = [place, *BOUND, "--family", "ctr", "--json"]
    assert (
        json.loads(cache(tool, "pull", *arguments, "--to", tmp_path / "a").stdout)["archives"] == 0
    )
    for name in ("one", "two", "three"):
        archive = pack(tool, tmp_path, name)
        (pushed,) = json.loads(cache(tool, "push", archive, "--to", place, "--json").stdout)[
            "archives"
        ]
        assert pushed["pushed"] and pushed["place"].startswith(f"{place}/ctr/")
    (pushed,) = json.loads(cache(tool, "push", archive, "--to", place, "--json").stdout)["archives"]
    assert not pushed["pushed"]
    done = json.loads(cache(tool, "pull", *arguments, "--to", tmp_path / "b").stdout)
    assert (done["archives"], done["written"]) == (3, 3)
    assert sorted(path.name for path in (tmp_path / "b/ab").iterdir()) == [
        "cone.py",
        "cthree.py",
        "ctwo.py",
    ]
    # Another family has nothing: what it is bound to is read of the archives themselves.
    other = [place, *BOUND, "--family", "new", "--json"]
    done = cache(tool, "pull", *other, "--to", tmp_path / "other")
    assert json.loads(done.stdout)["family"] == "ctr" and "taken from family ctr" in done.stderr
    elsewhere = [*BOUND[:4], "--environment", "/other", "--family", "ctr", "--json"]
    done = json.loads(cache(tool, "pull", place, *elsewhere, "--to", tmp_path / "e").stdout)
    assert (done["archives"], done["same_environment"]) == (3, False)
    # One that is damaged in the store is passed over.
    key = pushed["place"].removeprefix(f"s3://{BUCKET}/")
    server.client().put_object(Bucket=BUCKET, Key=key, Body=b"half")
    done = cache(tool, "pull", *arguments, "--to", tmp_path / "c")
    assert json.loads(done.stdout)["archives"] == 2 and "passed over" in done.stderr
    server.client().delete_object(Bucket=BUCKET, Key=key)
    done = json.loads(cache(tool, "gc", place, "--json").stdout)
    assert (done["archives_before"], done["archives_after"]) == (2, 1)
    assert (
        json.loads(cache(tool, "pull", *arguments, "--to", tmp_path / "d").stdout)["written"] == 2
    )
    done = json.loads(cache(tool, "gc", place, "--max-size", "0", "--json").stdout)
    assert done["archives_after"] == 0
