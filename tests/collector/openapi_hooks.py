"""What schemathesis has to be told to test a collector; loaded by it, not by pytest.

- Batches: real ones (the fuzzer's corpus), told as of the job and attempt that the address names,
  whole or spoilt with or without checksums that fit, and plain garbage.
- Every connection comes from an address of its own: an address that is wrong ten times has to wait,
  and a fuzzer is wrong all the time.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import socket
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import google_crc32c
import schemathesis
import urllib3.util.connection
from hypothesis import strategies as st

BATCH_TYPE = "application/vnd.headway.batch"
CORPUS = Path(__file__).resolve().parents[2] / "fuzz/corpus/ingest_batch"
HEADER_BYTES, HEAD_BYTES, CHUNK_BYTES = 64, 640, 64
JOURNAL_BYTES = 496  # of a head: the journal's constant part

BATCHES = [path.read_bytes() for path in sorted(CORPUS.iterdir()) if path.name != "truncated"]


def crc(data: bytes) -> bytes:
    return struct.pack("<I", google_crc32c.value(data))


def journal_id(batch: bytes | bytearray, head: int) -> bytes:
    return hashlib.sha256(batch[head : head + JOURNAL_BYTES]).digest()[:16]


def sealed(batch: bytes) -> bytes:
    """With checksums that fit (docs/formats/ingest.md)."""
    batch = batch[:48] + crc(batch[HEADER_BYTES:]) + batch[52:]
    return batch[:60] + crc(batch[:60]) + batch[64:]


def told_as(batch: bytes, job: str, attempt: int) -> bytes:
    """The same journals, of another job and attempt (docs/formats/journal.md)."""
    heads, chunks = struct.unpack_from("<II", batch, 16)
    front = HEADER_BYTES + heads * HEAD_BYTES
    data = bytearray(batch)
    names: dict[bytes, bytes] = {}
    for at in range(HEADER_BYTES, front, HEAD_BYTES):
        before = journal_id(data, at)
        struct.pack_into("<Q", data, at + 24, attempt)
        data[at + 96 : at + 352] = job.encode()[:255].ljust(256, b"\0")
        data[at + 488 : at + 492] = crc(bytes(data[at : at + 488]))
        names[before] = journal_id(data, at)
    for at in range(front, front + chunks * CHUNK_BYTES, CHUNK_BYTES):
        name = bytes(data[at : at + 16])
        data[at : at + 16] = names.get(name, name)
    return sealed(bytes(data))


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """A batch of which some bytes have changed; half of them say so in no checksum."""
    data = bytearray(draw(st.sampled_from(BATCHES)))
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(data) - 1))
        data[place] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        del data[draw(st.integers(1, len(data))) :]
    return sealed(bytes(data)) if draw(st.booleans()) and len(data) >= HEADER_BYTES else bytes(data)


bodies = st.one_of(st.sampled_from(BATCHES), spoilt(), st.binary(max_size=4096))
schemathesis.openapi.media_type(BATCH_TYPE, bodies)


@schemathesis.serializer(BATCH_TYPE)
def to_bytes(context: schemathesis.SerializationContext, body: bytes) -> bytes:
    """A whole batch is of the job and attempt that it is sent to, where those are any."""
    parts = context.case.path_parameters or {}
    job, attempt = unquote(str(parts.get("job", ""))), str(parts.get("attempt", ""))
    if body in BATCHES and attempt.isdecimal() and int(attempt) < 1 << 63:
        body = told_as(body, job, int(attempt))
    return body


create_connection = urllib3.util.connection.create_connection
# 127.0.0.0/8 is all this machine; another part of it for each run.
addresses = itertools.count(int(os.environ.get("HEADWAY_TEST_FIRST_PEER", "1")))


def connect_from_elsewhere(address: tuple[str, int], *words: Any, **named: Any) -> socket.socket:
    number = next(addresses)
    peer = f"127.{1 + (number >> 16) % 254}.{(number >> 8) % 256}.{1 + number % 254}"
    return create_connection(address, *words, **(named | {"source_address": (peer, 0)}))


urllib3.util.connection.create_connection = connect_from_elsewhere
