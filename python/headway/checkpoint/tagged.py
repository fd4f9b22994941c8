"""State as JSON: what a `state_dict()` holds beside tensors, without pickle.

JSON's own types stand for themselves. Whatever JSON has no word for is an object with one key that
begins with `$`; a tensor is such a one, with the name that it is stored under. What cannot be
expressed is an error that says where it was found. docs/formats/checkpoint.md lists the tags.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter, OrderedDict, defaultdict
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
    if value is None or type(value) in (bool, str, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, torch.Tensor):
        # What is of the model or an optimizer finds its own parameters again.
        is_own = isinstance(value, torch.nn.Parameter) and not path.startswith(_WITH_PARAMETERS)
        if is_own:
            return {"$parameter": [store(path, value), value.requires_grad]}
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
    raise CheckpointUsageError(
        f"{path}: a {_kind(value)} cannot be saved; saved are None, numbers, texts, bytes, lists, "
        "tuples, sets, dictionaries, tensors and numpy's arrays: keep what is in it as such, or "
        "give it state_dict() and load_state_dict() and name it as a part: "
        "checkpointer(..., its_name=it)"
    )


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


_WITH_PARAMETERS = ("model.", "optimizer.")

_SEQUENCES: dict[type, str | None] = {
    list: None,
    tuple: "$tuple",
    set: "$set",
    frozenset: "$frozenset",
    torch.Size: "$size",
}


# What a defaultdict may make: a name is saved, and nobody's code.
_FACTORIES: dict[str, Any] = {
    "none": None,
    **{kind.__name__: kind for kind in (bool, bytes, dict, float, int, list, set, str, tuple)},
}


def _encode_dict(value: dict[Any, Any], path: str, store: Store, depth: int) -> Any:
    if isinstance(value, defaultdict) and type(value) is defaultdict:
        for name, factory in _FACTORIES.items():
            if value.default_factory is factory:
                return {"$default": [name, _encode_dict(dict(value), path, store, depth)]}
        raise CheckpointUsageError(
            f"{path}: a defaultdict whose factory is {_name_of(value.default_factory)} cannot be "
            f"saved; saved are those of {', '.join(_FACTORIES)}: keep it as a dictionary, "
            "dict(it), and make it anew after restore()"
        )
    if type(value) is Counter:
        return {"$counter": _encode_dict(dict(value), path, store, depth)}
    if type(value) not in (dict, OrderedDict):
        raise CheckpointUsageError(
            f"{path}: a {_kind(value)} would come back as a plain dictionary: keep it as one, "
            "dict(it), and make it anew after restore()"
        )
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
    return {"$ordered_pairs" if isinstance(value, OrderedDict) else "$dict": pairs}


def _name_of(factory: Any) -> str:
    return str(getattr(factory, "__qualname__", None) or repr(factory)[:80])


_NUMPY_TYPES = "bool, int8 to int64, uint8 to uint64, float16, float32 and float64"


def _is_saved_dtype(dtype: Any) -> bool:
    """As tensors have them: neither long doubles nor another order of bytes."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8 and bool(dtype.isnative)


def _encode_array(value: Any, path: str, store: Store) -> Any:
    if type(value) is not numpy.ndarray:  # of a masked one the mask would be lost
        raise CheckpointUsageError(
            f"{path}: a {_kind(value)} would come back as a plain array: keep it as one, "
            "numpy.array(it)"
        )
    if not _is_saved_dtype(value.dtype):
        order = "" if value.dtype.isnative else " in another order of bytes"
        raise CheckpointUsageError(
            f"{path}: a numpy array of {value.dtype.name}{order} cannot be saved; saved are those "
            f"of {_NUMPY_TYPES}, in this machine's order of bytes: make it one with astype(), keep "
            "it as a list (it.tolist()), or a complex one as its .real and .imag"
        )
    # numpy's makes an array of one dimension of one that has none.
    ordered = numpy.ascontiguousarray(value).reshape(value.shape)
    return {"$array": store(path, torch.from_numpy(ordered))}


def _encode_scalar(value: Any, path: str, store: Store) -> Any:
    if type(value) in (bytes, bytearray):
        tag = "$bytes" if type(value) is bytes else "$bytearray"
        return {tag: base64.b64encode(value).decode()}
    if isinstance(value, torch.dtype):
        return {"$dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"$device": str(value)}
    if type(value) is complex:
        return {"$complex": [repr(value.real), repr(value.imag)]}
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _encode_array(value, path, store)
    if numpy is not None and isinstance(value, numpy.generic) and _is_saved_dtype(value.dtype):
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
    "$ordered_pairs": lambda pairs, fetch: OrderedDict(
        (_decode(key, fetch), _decode(item, fetch)) for key, item in pairs
    ),
    "$counter": lambda items, fetch: Counter(_decode(items, fetch)),
    "$default": lambda content, fetch: defaultdict(
        _FACTORIES[content[0]], _decode(content[1], fetch)
    ),
    "$parameter": lambda content, fetch: torch.nn.Parameter(
        fetch(content[0]), requires_grad=bool(content[1])
    ),
    "$bytes": lambda text, _: base64.b64decode(text),
    "$bytearray": lambda text, _: bytearray(base64.b64decode(text)),
    "$dtype": lambda name, _: _dtype(name),
    "$device": lambda text, _: torch.device(text),
    "$complex": lambda parts, _: complex(float(parts[0]), float(parts[1])),
    "$array": lambda name, fetch: fetch(name).numpy(),
    "$numpy": lambda content, _: _numpy_scalar(content),
}
