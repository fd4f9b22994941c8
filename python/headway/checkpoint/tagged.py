"""State as JSON: what a `state_dict()` holds beside tensors, without pickle.

JSON's own types stand for themselves. Whatever JSON has no word for is an object with one key that
begins with `$`; a tensor is such a one, with the name that it is stored under. What cannot be
expressed is an error that says where it was found. docs/formats/checkpoint.md lists the tags.
"""

from __future__ import annotations

import base64
import math
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from headway.checkpoint.errors import CheckpointError, CheckpointUsageError

DEPTH_MAX = 100

try:
    import numpy
except ImportError:  # torch works without it
    numpy = None  # type: ignore[assignment]

# Gives the name that a tensor found at a path is stored under.
Store = Callable[[str, torch.Tensor], str]
# Gives the tensor that is stored under a name.
Fetch = Callable[[str], torch.Tensor]


def encode(value: Any, path: str, store: Store, depth: int = 0) -> Any:
    if depth > DEPTH_MAX:
        raise CheckpointUsageError(f"{path}: nested more than {DEPTH_MAX} deep")
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, float) and type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, torch.Tensor):
        return {"$tensor": store(path, value)}
    if isinstance(value, dict):
        return _encode_dict(value, path, store, depth)
    if type(value) in _SEQUENCES:
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        coded = [encode(item, f"{path}.{i}", store, depth + 1) for i, item in enumerate(items)]
        tag = _SEQUENCES[type(value)]
        return coded if tag is None else {tag: coded}
    coded = _encode_scalar(value, path, store)
    if coded is not None:
        return coded
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise CheckpointUsageError(
        f"{path}: a {kind} cannot be saved; saved are None, numbers, texts, bytes, lists, tuples, "
        "sets, dictionaries, tensors and numpy's arrays: keep what is in it as such, or give it "
        "state_dict() and load_state_dict() and name it as a part: checkpointer(..., its_name=it)"
    )


_SEQUENCES: dict[type, str | None] = {
    list: None,
    tuple: "$tuple",
    set: "$set",
    frozenset: "$frozenset",
    torch.Size: "$size",
}


def _encode_dict(value: dict[Any, Any], path: str, store: Store, depth: int) -> Any:
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        coded: Any = {
            key: encode(item, f"{path}.{key}", store, depth + 1) for key, item in value.items()
        }
        return {"$ordered": coded} if isinstance(value, OrderedDict) else coded
    pairs = []
    for key, item in value.items():
        if isinstance(key, torch.Tensor):
            raise CheckpointUsageError(f"{path}: a tensor as a dictionary's key cannot be saved")
        coded_key = encode(key, f"{path}.(key)", store, depth + 1)
        pairs.append([coded_key, encode(item, f"{path}.{key}", store, depth + 1)])
    return {"$dict": pairs}


def _encode_scalar(value: Any, path: str, store: Store) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, torch.dtype):
        return {"$dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"$device": str(value)}
    if isinstance(value, complex):
        return {"$complex": [repr(value.real), repr(value.imag)]}
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind in "biuf":
        return {"$array": store(path, torch.from_numpy(numpy.ascontiguousarray(value)))}
    if numpy is not None and isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
        return {"$numpy": [value.dtype.str, repr(value.item())]}
    return None


def decode(value: Any, fetch: Fetch) -> Any:
    """Raises CheckpointError for whatever encode() did not write."""
    try:
        return _decode(value, fetch)
    except (KeyError, TypeError, ValueError, AttributeError, LookupError, RecursionError) as error:
        raise CheckpointError(f"what is saved is no state: {error!r}"[:300]) from None
    except RuntimeError as error:  # torch's, for a device that there is not
        raise CheckpointError(f"what is saved is no state here: {error}"[:300]) from None


def _decode(value: Any, fetch: Fetch) -> Any:
    if isinstance(value, list):
        return [_decode(item, fetch) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, content),) = value.items()
        if tag in _DECODERS:
            return _DECODERS[tag](content, fetch)
        if tag.startswith("$"):
            raise CheckpointError(f"the state holds a {tag}, which this version does not know")
    return {key: _decode(item, fetch) for key, item in value.items()}


def _dtype(name: str) -> torch.dtype:
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise CheckpointError(f"torch has no type {name!r}")
    return found


def _numpy_scalar(content: list[str]) -> Any:
    if numpy is None:
        raise CheckpointError("the state holds a number of numpy's, which is not installed")
    kind, text = content
    if not re.fullmatch(r"[<>|=]?[biuf]\d{1,2}", kind):  # numpy reads a whole language there
        raise CheckpointError(f"numpy has no number {kind[:40]!r}")
    dtype = numpy.dtype(kind)
    if dtype.kind == "b":
        return dtype.type(text == "True")
    return dtype.type(float(text) if dtype.kind == "f" else int(text))


_DECODERS: dict[str, Callable[[Any, Fetch], Any]] = {
    "$float": lambda text, _: float(text),
    "$tensor": lambda name, fetch: fetch(name),
    "$tuple": lambda items, fetch: tuple(_decode(items, fetch)),
    "$set": lambda items, fetch: set(_decode(items, fetch)),
    "$frozenset": lambda items, fetch: frozenset(_decode(items, fetch)),
    "$size": lambda items, fetch: torch.Size(_decode(items, fetch)),
    "$ordered": lambda items, fetch: OrderedDict(
        (key, _decode(item, fetch)) for key, item in items.items()
    ),
    "$dict": lambda pairs, fetch: {
        _decode(key, fetch): _decode(item, fetch) for key, item in pairs
    },
    "$bytes": lambda text, _: base64.b64decode(text),
    "$dtype": lambda name, _: _dtype(name),
    "$device": lambda text, _: torch.device(text),
    "$complex": lambda parts, _: complex(float(parts[0]), float(parts[1])),
    "$array": lambda name, fetch: fetch(name).numpy(),
    "$numpy": lambda content, _: _numpy_scalar(content),
}
