"""torch.distributed.checkpoint on Headway's storage: one changed argument.

    dcp.save(state, storage_writer=hw.dcp.Writer("checkpoints/run", step=100))
    dcp.load(state, storage_reader=hw.dcp.Reader("checkpoints/run"))

What is written is safetensors with checksums and an atomic commit (docs/formats/checkpoint.md), and
nothing of it is pickled: values that are no tensors have to be numbers, texts, lists and the like.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint import StorageReader, StorageWriter
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from torch.distributed.checkpoint.staging import AsyncStager
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from headway import _replica
from headway.checkpoint import folder_lock, sharded, tagged, where
from headway.checkpoint.errors import (
    CheckpointDamagedError,
    CheckpointError,
    CheckpointNotFoundError,
    CheckpointUsageError,
)
from headway.checkpoint.tensors import DTYPES, TORCH_DTYPES, Piece, address_of

VALUES = "headway.dcp.rank-"  # tensors of bytes: what is no tensor, as JSON
READ_THREADS = 4
NAMED_MAX = 5
OLDER_MAX = 64  # checkpoints that are looked at for one to go on from instead

__all__ = ["Reader", "Writer"]


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _step_in(path: str) -> int:
    """The number at the end of "run/step_100"; a folder without one begins at 0."""
    found = re.search(r"(\d+)$", path.rstrip("/"))
    return int(found.group(1)) if found else 0


class _AtPath:
    """What both sides say of where they are."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)

    @property
    def checkpoint_id(self) -> str:
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id is not None:
            self.path = os.path.abspath(checkpoint_id)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return "://" not in os.fspath(checkpoint_id)


class Writer(_AtPath, StorageWriter, AsyncStager):
    """Saves into a folder of checkpoints, or as the only one into a folder of its own. Without
    `step`, the number that the folder's name ends in. The coordinator has the folder's lock from
    its plan to the commit: another job, a holder or `headway ckpt prune` is refused meanwhile, and
    it is where one of them has it. dcp.async_save() has it copy the state (sharded.py)."""

    _synchronize_after_execute = False  # stage() has done all when it returns

    def __init__(self, path: str | os.PathLike[str], step: int | None = None) -> None:
        super().__init__(path)
        self.step = step
        self._draft: Any = None
        self._lock: Any = None

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        super().reset(checkpoint_id)
        self._draft = self._lock = None

    def stage(self, state_dict: dict[str, Any]) -> Any:
        return sharded.copied(state_dict)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """`use_collectives=False`: each rank would commit for itself, a part that looks whole."""
        ranks = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
        if kwargs.get("use_collectives") is False and ranks > 1:
            raise CheckpointUsageError(
                f"hw.dcp.Writer: dcp.save(use_collectives=False) with {ranks} ranks: a checkpoint "
                "of all of them needs one that commits it. Leave the argument out"
            )

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        step = self.step if self.step is not None else _step_in(self.path)
        job = os.environ.get("HEADWAY_JOB", os.path.basename(self.path))
        attempt = where.number("HEADWAY_ATTEMPT", 0)
        self._lock = folder_lock.take(self.path, f"hw.dcp.Writer of the job {job}")
        self._draft = _replica.Draft(self.path, step, len(plans), job, attempt=attempt)
        return [
            dataclasses.replace(plan, storage_data={"draft": self._draft.path, "rank": rank})
            for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        rank = plan.storage_data["rank"]
        tensors: list[tuple[Piece, torch.Tensor]] = []
        values: dict[str, Any] = {}
        results: list[WriteResult] = []

        def add(piece: Piece, tensor: torch.Tensor) -> int:
            tensor = tensor.detach().cpu().contiguous()
            tensors.append((piece, tensor))
            return tensor.numel() * tensor.element_size()

        def store(path: str, tensor: torch.Tensor) -> str:  # a tensor inside of a value
            name = f"{path}.rank-{rank:05}"
            add(Piece(name, DTYPES[tensor.dtype], tuple(tensor.shape), (0,) * tensor.dim()), tensor)
            return name

        for item in plan.items:
            if item.type == WriteItemType.BYTE_IO:
                fqn = item.index.fqn
                values[fqn] = tagged.encode(planner.lookup_object(item.index), fqn, store)
                size = 0
            else:
                tensor = planner.resolve_data(item)
                assert isinstance(tensor, torch.Tensor)
                size = add(_piece_of(item, tensor), tensor)
            results.append(WriteResult(index=item.index, size_in_bytes=size, storage_data=None))
        if values:
            text = json.dumps({"version": 1, "values": values}).encode()
            document = torch.frombuffer(bytearray(text), dtype=torch.uint8)
            add(Piece(f"{VALUES}{rank:05}", "U8", (len(text),), (0,)), document)
        if results:
            entries = [
                _replica.write_shard(
                    plan.storage_data["draft"],
                    f"rank-{rank:05}{f'-{number}' if number else ''}.safetensors",
                    rank,
                    [tuple(piece) for piece, _ in part],
                    [address_of(tensor) for _, tensor in part],
                )
                for number, part in enumerate(_in_files(tensors))
            ]
            results[0] = dataclasses.replace(results[0], storage_data=entries)
        return _done(results)

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        try:
            for written in results:
                for result in written:
                    for entry in result.storage_data or ():
                        self._draft.take(entry)
            self._draft.commit()
        finally:
            self._draft = self._lock = None

    def storage_meta(self) -> StorageMeta | None:
        return StorageMeta(checkpoint_id=self.path)


def _in_files(
    tensors: list[tuple[Piece, torch.Tensor]],
) -> list[list[tuple[Piece, torch.Tensor]]]:
    """A file has one tensor of a name. A rank that has several shards of one needs more files."""
    files: list[list[tuple[Piece, torch.Tensor]]] = [[]]
    met: dict[str, int] = {}
    for piece, tensor in tensors:
        number = met[piece.name] = met.get(piece.name, -1) + 1
        if number == len(files):
            files.append([])
        files[number].append((piece, tensor))
    return files


def _piece_of(item: WriteItem, tensor: torch.Tensor) -> Piece:
    data = item.tensor_data
    assert data is not None
    if tensor.dtype not in DTYPES:
        raise CheckpointUsageError(f"{item.index.fqn}: a tensor of {tensor.dtype} cannot be saved")
    offsets = tuple(data.chunk.offsets)
    return Piece(item.index.fqn, DTYPES[tensor.dtype], tuple(tensor.shape), offsets)


def _find(path: str) -> str:
    """The checkpoint that is meant by a path: itself, or the newest in it whose manifest and files'
    sizes are good. To choose by content would be to read everything twice."""
    if os.path.exists(os.path.join(path, "MANIFEST.json")):
        return path
    found, damaged = _replica.list_checkpoints(path, 1)
    if found:
        for text, _ in damaged:
            warnings.warn(
                f"headway: a checkpoint is passed over: {text}", RuntimeWarning, stacklevel=4
            )
        return os.path.join(path, found[0][0])
    if damaged:
        more = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        raise CheckpointDamagedError(f"{path}: no good checkpoint is in it: {damaged[0][0]}{more}")
    raise CheckpointNotFoundError(f"{path}: no checkpoint: {_what_is_there(path)}")


def _with_next_step(error: CheckpointDamagedError, checkpoint: str) -> CheckpointDamagedError:
    """dcp.load() may bury it among the lines of its own: it says itself how to go on."""
    folder, name = os.path.split(os.path.normpath(checkpoint))
    try:
        names = [one[0] for one in _replica.list_checkpoints(folder or ".", OLDER_MAX)[0]]
    except CheckpointError:
        names = []
    older = names[names.index(name) + 1 :] if name in names else []
    then = (
        f"the next older checkpoint is hw.dcp.Reader({os.path.join(folder, older[0])!r})"
        if older
        else "no older checkpoint is beside it"
    )
    return CheckpointDamagedError(f"{error}; {then}; `headway ckpt verify {folder}` reads them all")


def _what_is_there(path: str) -> str:
    try:
        names = sorted(os.listdir(path))
    except FileNotFoundError:
        above = os.path.dirname(path)
        return "there is no such folder" + ("" if os.path.isdir(above) else f", nor {above}")
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    more = ", …" if len(names) > NAMED_MAX else ""
    return f"in it are {', '.join(names[:NAMED_MAX])}{more}" if names else "it is empty"


class Reader(_AtPath, StorageReader):
    """Reads a checkpoint: its own folder, or the newest of a folder of checkpoints whose manifest
    and files' sizes are good. Every byte is compared with its checksum: damage is an error that
    names the next older one, raised here if it is in what is read of every checkpoint (headers,
    and values that are no tensors), else in a CheckpointException of dcp.load()."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._reader: Any = None
        self._found = ""  # what it reads
        self._values: dict[str, Any] = {}
        self._metadata: Metadata
        self._open()  # now: of what read_metadata() raises, dcp.load() keeps the text alone

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        super().reset(checkpoint_id)
        self._found = ""
        self._open()

    def _open(self) -> None:
        """The one that is meant by now, unless it is open."""
        found = _find(self.path)
        if found == self._found:
            return
        self._found = ""
        try:
            self._reader = _replica.Reader(found)
            self._metadata = self._look()
        except CheckpointDamagedError as error:
            raise _with_next_step(error, found) from None
        self._found = found

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        self._open()
        return self._metadata

    def _look(self) -> Metadata:
        found: dict[str, Any] = {}
        documents: list[tuple[str, list[int]]] = []
        for name, dtype, shape in self._reader.tensors():
            if name.startswith(VALUES):
                documents.append((name, shape))
                continue
            size = torch.Size(shape)
            chunk = ChunkStorageMetadata(offsets=torch.Size([0] * len(shape)), sizes=size)
            properties = TensorProperties(dtype=TORCH_DTYPES[dtype])
            found[name] = TensorStorageMetadata(properties, size, [chunk])
        self._values = {}
        for name, shape in documents:
            text = self._fetch(name, torch.uint8, shape)
            self._values.update(json.loads(bytes(text.numpy()))["values"])
        for fqn in self._values:
            found[fqn] = BytesStorageMetadata()
        storage = {MetadataIndex(fqn): fqn for fqn in found}
        return Metadata(state_dict_metadata=found, storage_data=storage)

    def _fetch(self, name: str, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
        tensor = torch.empty(shape, dtype=dtype)
        self._reader.read([(name, [0] * len(shape), list(shape), tensor.data_ptr())], 1)
        return tensor

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        pass  # every rank has read the metadata before

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        try:
            self._load(plan, planner)
        except CheckpointDamagedError as error:
            raise _with_next_step(error, self._found) from None
        return _done(None)

    def _load(self, plan: LoadPlan, planner: LoadPlanner) -> None:
        tensors = self._reader.tensors()
        types = {name: (TORCH_DTYPES[dtype], shape) for name, dtype, shape in tensors}
        wants, after = [], []
        for item in plan.items:
            fqn = item.storage_index.fqn
            if item.type == LoadItemType.BYTE_IO:
                value = tagged.decode(
                    self._values[fqn],
                    lambda name: self._fetch(name, *types[name]),
                )
                stream = io.BytesIO()
                torch.save(value, stream)  # in memory only: the planner wants it so
                stream.seek(0)
                planner.load_bytes(item, stream)
                continue
            target = planner.resolve_tensor(item).detach()
            dtype = types[fqn][0]
            memory = target
            if target.dtype != dtype or not address_of(target):
                memory = torch.empty(target.shape, dtype=dtype)
            wants.append((fqn, list(item.storage_offsets), list(item.lengths), memory.data_ptr()))
            after.append((item, target, memory))
        self._reader.read(wants, READ_THREADS)
        for item, target, memory in after:
            if memory is not target:
                target.copy_(memory)
            planner.commit_tensor(item, target)
