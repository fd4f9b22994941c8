"""A rank's document as somebody may have made it: read, or refused with a CheckpointError."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.environ.get("HEADWAY_PYTHON", str(ROOT / "build/python")))

torch = pytest.importorskip("torch")
from headway.checkpoint import live, tagged  # noqa: E402
from headway.checkpoint.errors import CheckpointError  # noqa: E402

ROUNDS = 20_000
TAGS = ["$float", "$tensor", "$tuple", "$set", "$frozenset", "$size", "$ordered", "$dict", "$bytes"]
TAGS += ["$dtype", "$device", "$complex", "$array", "$numpy", "$unknown", "a", ""]
LEAVES: list[Any] = [None, True, 0, -1, 2**70, 1.5, "", "nan", "x", "float32", "cuda:99", "=="]
LEAVES += ["w", "<f8", "os.system", [], {}, "9" * 5000]


def fetch(name: str) -> Any:
    return {"w": torch.zeros(2)}[name]


def anything(choice: random.Random, depth: int) -> Any:
    kind = choice.randrange(4) if depth > 0 else 0
    if kind == 0:
        return choice.choice(LEAVES)
    if kind == 1:
        return [anything(choice, depth - 1) for _ in range(choice.randrange(3))]
    if kind == 2:
        return {choice.choice(TAGS): anything(choice, depth - 1)}
    return {choice.choice(TAGS): anything(choice, depth - 1) for _ in range(choice.randrange(4))}


def test_any_tags_are_read_or_refused() -> None:
    seed = int(os.environ.get("HEADWAY_TEST_SEED", random.randrange(2**32)))
    print(f"HEADWAY_TEST_SEED={seed}")
    choice = random.Random(seed)
    read = 0
    for _ in range(ROUNDS):
        try:
            tagged.decode(anything(choice, 5), fetch)
            read += 1
        except CheckpointError as error:
            assert "\n" not in str(error)
    assert 0 < read < ROUNDS


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"{}",
        b"[]",
        b"null",
        b'{"version": 2, "parts": {}}',
        b'{"version": "1", "parts": {}}',
        b'{"version": 1}',
        b'{"version": 1, "parts": []}',
        b'{"version": 1, "parts": null}',
    ],
    ids=lambda text: repr(text[:40]),
)
def test_what_is_no_document(text: bytes) -> None:
    with pytest.raises(CheckpointError, match="its state"):
        live.parse(text, "here")


def test_a_document_comes_back() -> None:
    document = {"version": 1, "parts": {"model": {}}}
    assert live.parse(json.dumps(document).encode() + b"   ", "here") == document
