"""The extension's columns (python/src/fleet_columns.h) as batches of Arrow, and their schema in
Spark's words. Runs on executors: needs pyarrow, nothing of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

Column = tuple[str, str, Any, Any]  # name, type, data, valid

SPARK_TYPES = {
    "int64": "bigint",
    "day": "date",
    "flag": "boolean",
    "text": "string",
    "texts": "array<string>",
}
LISTED_TYPES = {
    "flag": pa.bool_(),
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
}
SIZED_TYPES = {"int64": (pa.int64(), 8), "day": (pa.date32(), 4)}


def array(column: Column) -> pa.Array:
    _, kind, data, valid = column
    if kind in LISTED_TYPES:
        return pa.array(data, LISTED_TYPES[kind])
    type_, width = SIZED_TYPES[kind]
    bits = None if valid is None else pa.py_buffer(valid)
    return pa.Array.from_buffers(type_, len(data) // width, [bits, pa.py_buffer(data)])


def batch(before: Sequence[tuple[str, pa.Array]], columns: Iterable[Column]) -> pa.RecordBatch:
    """One batch of the columns, behind those that are arrays already."""
    named = [*before, *((column[0], array(column)) for column in columns)]
    return pa.RecordBatch.from_arrays([each for _, each in named], [name for name, _ in named])


def spark_schema(before: str, columns: Iterable[Column]) -> str:
    """As mapInArrow wants it: "job string, attempt bigint, …"."""
    return ", ".join([before, *(f"`{name}` {SPARK_TYPES[kind]}" for name, kind, _, _ in columns)])
