"""What executors do: folders of jobs into facts, facts into rows. Functions from batches of Arrow
to batches of Arrow, without state; a task that is done again gives the same rows."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pyarrow as pa

from headway import _fleet
from headway.fleet import arrow

ROWS_MAX = 1024  # of a batch; a fact may have 4,096 hosts
READ_SCHEMA = pa.schema(
    [
        ("folder", pa.string()),
        ("job", pa.string()),
        ("attempt", pa.int64()),
        ("fact", pa.binary()),
        ("lost", pa.string()),
        ("file", pa.string()),
        ("reason", pa.string()),
    ]
)
READ_SPARK_SCHEMA = ", ".join(  # Spark knows the other types by the same names
    f"{field.name} {str(field.type).replace('int64', 'bigint')}" for field in READ_SCHEMA
)
Batches = Iterator[pa.RecordBatch]
Row = tuple[str | int | bytes | None, ...]


def read_folder(folder: str) -> Iterator[Row]:
    """A row for every attempt of the job, and one for everything that could not be read."""
    name = os.path.basename(folder)
    try:
        job, facts, notes = _fleet.attribute(folder)
    except Exception as error:  # whatever is wrong with one job, the others are told
        reason = str(error).removeprefix(f"{folder}: ") or type(error).__name__
        yield folder, name, None, None, "job", folder, reason
        return
    for attempt, fact in facts:
        yield folder, job, attempt, fact, None, None, None
    for lost, file, reason in notes:
        yield folder, job, None, None, lost, file, reason
    if not facts:
        yield folder, job, None, None, "job", folder, "there are no attempts in it"


def attribute(batches: Batches, root: str) -> Batches:
    """Folders (a list in each row) → facts and what was lost."""
    if not os.path.isdir(root):
        raise RuntimeError(
            f"headway: {root} is not there on {socket.gethostname()}: "
            "journals must lie where every worker sees them under the same path"
        )
    rows: list[Row] = []
    for batch in batches:
        for folders in batch.column("folders").to_pylist():
            for folder in folders:
                for row in read_folder(folder):
                    rows.append(row)
                    if len(rows) == ROWS_MAX:
                        yield _read_batch(rows)
                        rows = []
    if rows:
        yield _read_batch(rows)


def _read_batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, READ_SCHEMA, strict=True)],
        schema=READ_SCHEMA,
    )


def attempts(batches: Batches, tenant: str) -> Batches:
    """Facts → a row for every attempt."""
    for batch in batches:
        columns = _fleet.attempt_columns(batch.column("fact").to_pylist())
        yield arrow.batch(_whose(batch.column("job"), tenant), columns)


def slices(batches: Batches, tenant: str) -> Batches:
    """Facts → a row for every attempt and day."""
    for batch in batches:
        row, *columns = _fleet.slice_columns(batch.column("fact").to_pylist())
        jobs = batch.column("job").take(arrow.array(row))
        yield arrow.batch(_whose(jobs, tenant), columns)


def _whose(jobs: pa.Array, tenant: str) -> list[tuple[str, pa.Array]]:
    return [("tenant", pa.repeat(pa.scalar(tenant), len(jobs))), ("job", jobs)]


def attempts_schema() -> str:
    return arrow.spark_schema("tenant string, job string", _fleet.attempt_columns([]))


def slices_schema() -> str:
    return arrow.spark_schema("tenant string, job string", _fleet.slice_columns([])[1:])
