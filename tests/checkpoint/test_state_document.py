"""A rank's document as somebody may have made it: read, or refused with a CheckpointError."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.environ.get("HEADWAY_PYTHON", str(ROOT / "build/python")))

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
from headway.checkpoint import live, tagged  # noqa: E402
from headway.checkpoint.errors import CheckpointError, CheckpointUsageError  # noqa: E402
from headway.checkpoint.tensors import place  # noqa: E402

ROUNDS = 20_000
TAGS = ["$float", "$tensor", "$tuple", "$set", "$frozenset", "$size", "$ordered", "$dict", "$bytes"]
TAGS += ["$dtype", "$device", "$complex", "$array", "$numpy", "$unknown", "a", ""]
TAGS += ["$ordered_pairs", "$counter", "$default", "$parameter", "$bytearray"]
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


def there_and_back(value: Any) -> Any:
    """Through JSON, with the tensors beside it."""
    tensors: dict[str, Any] = {}

    def store(path: str, tensor: Any) -> str:
        tensors[path] = place(path, tensor).local.clone()
        return path

    text = json.dumps(tagged.encode(value, "values", store))
    names = live.tensor_names(json.loads(text))
    assert sorted(names) == sorted(tensors), "whoever reads it asks for all of them"
    return tagged.decode(json.loads(text), tensors.__getitem__)


@pytest.mark.parametrize(
    "value",
    [
        bytearray(b"\x00ab"),
        b"ab",
        OrderedDict([("b", 1), ("a", 2)]),
        OrderedDict([(2, "b"), (1, "a")]),
        Counter({30: 1, 80: 2}),
        defaultdict(list, a=[1]),
        defaultdict(int, {1: 2}),
        defaultdict(None, a=1),
        {"$x": 1, (1, 2): 3, None: 4},
        {"a": OrderedDict(x=defaultdict(set))},
    ],
    ids=repr,
)
def test_what_comes_back_is_what_it_was(value: Any) -> None:
    back = there_and_back(value)
    assert back == value and type(back) is type(value)
    if isinstance(value, (dict, OrderedDict)):
        assert list(back) == list(value)
    if isinstance(value, defaultdict):
        assert back.default_factory is value.default_factory
    if isinstance(value, dict) and "a" in value:
        assert type(back["a"]) is type(value["a"])


def test_arrays_without_a_dimension_and_parameters() -> None:
    back = there_and_back(numpy.array(3.5))
    assert type(back) is numpy.ndarray and back.shape == () and back == 3.5
    back = there_and_back(numpy.arange(6).reshape(2, 3)[:, ::2])
    assert back.tolist() == [[0, 2], [3, 5]]
    for wanted in (True, False):
        back = there_and_back([torch.nn.Parameter(torch.ones(2), requires_grad=wanted)])[0]
        assert type(back) is torch.nn.Parameter and back.requires_grad is wanted


class Own(dict):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (defaultdict(lambda: 3), "a defaultdict whose factory is <lambda> cannot be saved"),
        (Own(a=1), "Own would come back as a plain dictionary: keep it as one, dict(it)"),
        (torch.torch_version.TorchVersion("2.0"), "TorchVersion cannot be saved"),
        (numpy.ma.array([1, 2], mask=[0, 1]), "MaskedArray would come back as a plain array"),
        (numpy.array([1j]), "a numpy array of complex128 cannot be saved; saved are those of bool"),
        (numpy.array(["a"]), "a numpy array of str"),
        (numpy.array([{}], dtype=object), "a numpy array of object cannot"),
        (numpy.array(["2020-01-01"], dtype="datetime64[D]"), "a numpy array of datetime64"),
        (numpy.arange(3, dtype=">i4"), "a numpy array of int32 in another order of bytes"),
        (numpy.ones(2, numpy.longdouble), "cannot be saved"),
        (numpy.longdouble(1), "cannot be saved"),
        (torch.ones(2, dtype=torch.complex64), "torch.view_as_real(it)"),
        (torch.empty(2, device="meta"), "on the meta device has no values"),
        (torch.sparse_coo_tensor([[0]], [1.0], (3,)), "keep its to_dense()"),
        (torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8), "dequantize() it"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_would_change_on_the_way_is_refused_by_name(value: Any, said: str) -> None:
    with pytest.raises(CheckpointUsageError) as refused:
        there_and_back({"here": value})
    assert said in str(refused.value) and str(refused.value).startswith("values.here: ")
    assert "\n" not in str(refused.value)
