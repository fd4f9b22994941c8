"""Tensors as the engine wants them: type, shape, address; and back from memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from headway.checkpoint.errors import CheckpointUsageError

DTYPES: dict[torch.dtype, str] = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int16: "I16",
    torch.uint16: "U16",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int32: "I32",
    torch.uint32: "U32",
    torch.float32: "F32",
    torch.int64: "I64",
    torch.uint64: "U64",
    torch.float64: "F64",
}
TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


class Piece(NamedTuple):
    """What this rank has of a tensor. A whole one has offsets of zero."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offsets: tuple[int, ...]


class Placed(NamedTuple):
    """A tensor of this rank's, and its place in the whole."""

    piece: Piece
    local: torch.Tensor  # its memory
    replicated: bool  # other ranks have the same
    first: bool  # of those that have the same this rank is the first
    own: bool = False  # no other rank has one of this name


def is_dtensor(tensor: torch.Tensor) -> bool:
    return type(tensor).__name__ == "DTensor" and hasattr(tensor, "device_mesh")


def place(name: str, tensor: torch.Tensor) -> Placed:
    """Raises for what cannot be stored."""
    if type(tensor).__name__ == "ShardedTensor":
        raise CheckpointUsageError(
            f"{name}: a ShardedTensor cannot be saved by the checkpointer; make it a DTensor, or "
            "save it with torch.distributed.checkpoint and hw.dcp.Writer"
        )
    if tensor.layout != torch.strided:
        raise CheckpointUsageError(
            f"{name}: a tensor of layout {tensor.layout} cannot be saved; keep its to_dense(), or "
            "its indices and values"
        )
    if tensor.dtype not in DTYPES:
        raise CheckpointUsageError(
            f"{name}: a tensor of type {tensor.dtype} cannot be saved{_instead(tensor)}"
        )
    if tensor.device.type == "meta":
        raise CheckpointUsageError(
            f"{name}: a tensor on the meta device has no values that could be saved; give it "
            "memory first (to_empty(device=...) and its initialisation), or leave it out"
        )
    if is_dtensor(tensor):
        return _place_dtensor(name, tensor)
    local = tensor.detach()
    piece = Piece(name, DTYPES[local.dtype], tuple(local.shape), (0,) * local.dim())
    return Placed(piece, local, True, True)


def _instead(tensor: torch.Tensor) -> str:
    if tensor.dtype.is_complex:
        return "; keep torch.view_as_real(it), and make it complex again by torch.view_as_complex()"
    if tensor.is_quantized:
        return "; keep its int_repr() with its scale and zero point, or dequantize() it"
    return ""


def _place_dtensor(name: str, tensor: Any) -> Placed:
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    mesh, placements = tensor.device_mesh, tensor.placements
    if any(not (p.is_shard() or p.is_replicate()) for p in placements):
        raise CheckpointUsageError(f"{name}: a tensor with pending reductions cannot be saved")
    shape, offsets = compute_local_shape_and_global_offset(tensor.shape, mesh, placements)
    local = tensor.to_local().detach()
    coordinate = mesh.get_coordinate() or [0] * mesh.ndim
    first = all(at == 0 for at, p in zip(coordinate, placements, strict=True) if p.is_replicate())
    piece = Piece(name, DTYPES[local.dtype], tuple(shape), tuple(offsets))
    return Placed(piece, local, False, first)


def bytes_of(piece: Piece) -> int:
    return math.prod(piece.shape) * TORCH_DTYPES[piece.dtype].itemsize


def size_text(size: float) -> str:
    """For a person: 17.2 KiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.3g} TiB"


def flat_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Its memory, which has to be in order, as bytes."""
    return tensor.view(-1).view(torch.uint8)


def address_of(tensor: torch.Tensor) -> int:
    """Where the engine can copy it from; 0 where torch has to: other devices, other orders."""
    if tensor.device.type != "cpu" or not tensor.is_contiguous() or tensor.is_conj():
        return 0
    return tensor.data_ptr()


def view(memory: Any, piece: Piece, begin: int) -> torch.Tensor:
    """A tensor that is this piece of a slot's memory, with a storage of exactly its size."""
    dtype = TORCH_DTYPES[piece.dtype]
    count = math.prod(piece.shape)
    if count == 0:
        return torch.empty(piece.shape, dtype=dtype)
    return torch.frombuffer(memory, dtype=dtype, count=count, offset=begin).view(piece.shape)
