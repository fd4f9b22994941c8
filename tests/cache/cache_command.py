"""The binary under test, how the tests call it, and cache directories that look like torch's."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from program import HEADWAY, run_headway

# No Python is asked: these tests are not about torch.
BOUND = ["--torch", "2.13.0", "--python-tag", "cpython-311", "--environment", "/venv"]


@dataclass
class Cache:
    """`headway cache` with a home of its own."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("HEADWAY_CACHE", "TORCHINDUCTOR", "XDG_"))
        }
        return kept | {"HOME": str(self.home), "LC_ALL": "C.UTF-8"} | self.variables

    def command(self, *arguments: object) -> list[str]:
        return [str(HEADWAY), "cache", *map(str, arguments)]

    def run(self, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_headway("cache", *arguments, code=code, env=self.environment())
        if code == 2:
            assert done.stderr.count("\n") == 1, done.stderr
            assert done.stderr.startswith("headway: "), done.stderr
        return done

    def json(self, *arguments: object, code: int = 0) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code).stdout)

    def pack(self, directory: Path, out: Path, *arguments: object) -> Any:
        return self.json("pack", directory, "-o", out, *BOUND, *arguments)


def content_name(content: bytes) -> str:
    digest = hashlib.sha256(content).digest()
    return base64.b32encode(digest)[:51].decode().lower()


def write_tree(directory: Path, tree: dict[str, bytes]) -> Path:
    for path, content in tree.items():
        place = directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return directory


def read_tree(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != ".headway-lock"
    }


def some_tree(seed: int = 0, libraries: int = 3) -> dict[str, bytes]:
    graph = f"graph {seed}".encode()
    tree = {
        f"fxgraph/ab/fab{seed}/{content_name(graph)}": graph,
        f"aotautograd/akey{seed}/{content_name(graph + b'a')}": graph + b"a",
        f"dynamo/code_state_job_{seed}_.pkl": b"learned",
        "ab/cabc.py": b"def call(args): pass",
    }
    for i in range(libraries):
        tree[f"cd/c{seed}_{i}.main.so"] = hashlib.sha256(f"{seed} {i}".encode()).digest() * 500
    return tree
