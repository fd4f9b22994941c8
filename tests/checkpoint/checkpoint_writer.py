"""Writes checkpoints by docs/formats/checkpoint.md alone: nothing of Headway's own code. That the
binary reads them proves the document."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import google_crc32c
import numpy as np

CHUNK_BYTES = 4096  # the least, so that small files have several
ALIGNMENT = 4096
DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "uint16": "U16",
    "float16": "F16",
    "int32": "I32",
    "uint32": "U32",
    "float32": "F32",
    "int64": "I64",
    "uint64": "U64",
    "float64": "F64",
}


def crc32c(data: bytes) -> int:
    return google_crc32c.value(data)


@dataclass
class Piece:
    name: str
    array: np.ndarray
    offsets: tuple[int, ...]
    dtype: str = ""  # where numpy has no such type: BF16 as uint16

    @property
    def dtype_name(self) -> str:
        return self.dtype or DTYPES[str(self.array.dtype)]


@dataclass
class Facts:
    step: int = 100
    data: int = 102_400
    world_size: int = 1
    job: str = "nightly"
    attempt: int = 2
    time_ns: int = 1_763_200_000_000_000_000
    extra: dict = field(default_factory=dict)  # keys that a reader does not know


def safetensors(pieces: list[Piece]) -> bytes:
    """In falling order of the power of two that sizes are multiples of; the header padded so that
    data begin at a multiple of 4096."""

    def grain(piece: Piece) -> int:
        size = piece.array.nbytes | ALIGNMENT
        return size & -size

    order = sorted(pieces, key=grain, reverse=True)
    header: dict = {
        "__metadata__": {
            "DCP_SHARDING_INFO": json.dumps(
                {p.name: {"saved_offsets": list(p.offsets)} for p in order}
            ),
            "DCP_VERSION": "1.0",
            "format": "pt",
        }
    }
    at = 0
    for piece in order:
        size = piece.array.nbytes
        header[piece.name] = {
            "dtype": piece.dtype_name,
            "shape": list(piece.array.shape),
            "data_offsets": [at, at + size],
        }
        at += size
    return safetensors_of(header, b"".join(np.ascontiguousarray(p.array).tobytes() for p in order))


def safetensors_of(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    padded = -(-(8 + len(text)) // ALIGNMENT) * ALIGNMENT - 8
    return struct.pack("<Q", padded) + text.ljust(padded) + data


def manifest(facts: Facts, files: list[dict]) -> bytes:
    body = {
        "format": "headway-checkpoint",
        "version": 1,
        "step": facts.step,
        "data": facts.data,
        "world_size": facts.world_size,
        "job": facts.job,
        "attempt": facts.attempt,
        "time_ns": facts.time_ns,
        "files": files,
        **facts.extra,
    }
    return sealed(json.dumps(body).removesuffix("}").encode())


def sealed(body: bytes) -> bytes:
    """`body`: a JSON object without its closing brace."""
    return body + b',\n"crc32c":"' + f"{crc32c(body):08x}".encode() + b'"}\n'


def entry(name: str, content: bytes, rank: int, chunk_bytes: int = CHUNK_BYTES) -> dict:
    chunks = [content[i : i + chunk_bytes] for i in range(0, len(content), chunk_bytes)]
    return {
        "name": name,
        "bytes": len(content),
        "rank": rank,
        "chunk_bytes": chunk_bytes,
        "crc32c": [crc32c(chunk) for chunk in chunks],
    }


def shard_name(rank: int) -> str:
    return f"shard-{rank + 1:05d}-model-00001-of-00001.safetensors"


def write_files(
    folder: Path, sequence: int, facts: Facts, contents: dict[str, tuple[int, bytes]]
) -> Path:
    """One checkpoint of given files: name → (rank, content). LATEST names it."""
    path = folder / f"step-{facts.step:08d}-{sequence:06d}"
    path.mkdir(parents=True)
    for name, (_, content) in contents.items():
        (path / name).write_bytes(content)
    files = [entry(name, content, rank) for name, (rank, content) in contents.items()]
    (path / "MANIFEST.json").write_bytes(manifest(facts, files))
    (folder / "LATEST").write_text(path.name + "\n")
    return path


def write(folder: Path, sequence: int, facts: Facts, ranks: list[list[Piece]]) -> Path:
    """One checkpoint, with a file for each rank's pieces."""
    facts.world_size = len(ranks)
    contents = {shard_name(r): (r, safetensors(pieces)) for r, pieces in enumerate(ranks)}
    return write_files(folder, sequence, facts, contents)


def flip(path: Path) -> None:
    """One bit of a checkpoint's data, which no manifest shows."""
    shard = path / shard_name(0)
    content = bytearray(shard.read_bytes())
    content[-5] ^= 4
    shard.write_bytes(content)


def rows(tensors: dict[str, np.ndarray], ranks: int) -> list[list[Piece]]:
    """Each tensor's rows over the ranks, unevenly; scalars are the first rank's."""
    out: list[list[Piece]] = [[] for _ in range(ranks)]
    for name, array in tensors.items():
        if array.ndim == 0:
            out[0].append(Piece(name, array, ()))
            continue
        cuts = [array.shape[0] * r * r // (ranks * ranks) for r in range(ranks + 1)]
        for rank in range(ranks):
            begin, end = cuts[rank], cuts[rank + 1]
            if begin < end or (array.shape[0] == 0 and rank == 0):
                offsets = (begin, *[0] * (array.ndim - 1))
                out[rank].append(Piece(name, array[begin:end], offsets))
    return out


def columns(tensors: dict[str, np.ndarray], ranks: int) -> list[list[Piece]]:
    """The same by columns, where there are any."""
    out: list[list[Piece]] = [[] for _ in range(ranks)]
    for name, array in tensors.items():
        if array.ndim < 2:
            out[0].append(Piece(name, array, (0,) * array.ndim))
            continue
        cuts = [array.shape[1] * r // ranks for r in range(ranks + 1)]
        for rank in range(ranks):
            part = array[:, cuts[rank] : cuts[rank + 1]]
            if part.shape[1] > 0:
                offsets = (0, cuts[rank], *[0] * (array.ndim - 2))
                out[rank].append(Piece(name, np.ascontiguousarray(part), offsets))
    return out
