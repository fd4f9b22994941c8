"""Ways to save, ours and others', behind one small interface: save() returns when training may go
on, durable() says whether everything that was saved is on disk. All of them sync their files."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from workloads import Workload


def state_of(work: Workload) -> dict[str, Any]:
    return {"model": work.model.state_dict(), "optimizer": work.optimizer.state_dict()}


class Engine:
    def __init__(self, work: Workload, folder: Path) -> None:
        self.work = work
        self.folder = folder
        self.number = 0

    def next_path(self) -> Path:
        """A new one for each save; the one before the last goes."""
        self.number += 1
        shutil.rmtree(self.folder / str(self.number - 2), ignore_errors=True)
        return self.folder / str(self.number)

    def save(self) -> None:
        raise NotImplementedError

    def durable(self) -> bool:
        return True

    def newest_is_whole(self) -> bool:
        """Of what is on disk: it can be read without what was saved before it."""
        return True

    def close(self) -> None:
        pass


def _sync(path: Path) -> None:
    for target in (path, path.parent):
        fd = os.open(target, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


class Headway(Engine):
    staging = "full"

    def __init__(self, work: Workload, folder: Path) -> None:
        super().__init__(work, folder)
        import headway as hw

        self.keeper = hw.checkpointer(
            folder,
            model=work.model,
            optimizer=work.optimizer,
            keep_last=2,
            staging=self.staging,
        )

    def save(self) -> None:
        self.number += 1
        self.keeper.save(self.number)

    def durable(self) -> bool:
        if self.keeper.failed:
            raise SystemExit(f"{self.keeper.folder}: a save failed")
        return self.keeper.wait(0)

    def close(self) -> None:
        self.keeper.close()


class HeadwayRows(Headway):
    staging = "rows"

    def newest_is_whole(self) -> bool:
        newest = self.folder / (self.folder / "LATEST").read_text().strip()
        return "base" not in json.loads((newest / "MANIFEST.json").read_text())


class HeadwayStream(Headway):
    staging = "stream"


class TorchSave(Engine):
    def save(self) -> None:
        path = self.next_path()
        path.mkdir(parents=True)
        torch.save(state_of(self.work), path / "state.pt")
        _sync(path / "state.pt")


class Safetensors(Engine):
    def save(self) -> None:
        from safetensors.torch import save_file

        path = self.next_path()
        path.mkdir(parents=True)
        flat: dict[str, torch.Tensor] = {}
        _flatten(state_of(self.work), "", flat)
        save_file(flat, path / "state.safetensors")
        _sync(path / "state.safetensors")


def _flatten(value: Any, name: str, into: dict[str, torch.Tensor]) -> None:
    if isinstance(value, torch.Tensor):
        into[name] = value.detach().contiguous()
    elif isinstance(value, dict):
        for key, item in value.items():
            _flatten(item, f"{name}.{key}", into)


class DcpSave(Engine):
    def save(self) -> None:
        writer = dcp.FileSystemWriter(self.next_path(), sync_files=True)
        dcp.save(state_of(self.work), storage_writer=writer, no_dist=True)


class DcpAsyncThread(Engine):
    """With one stager that keeps its memory, the best that there is."""

    def __init__(self, work: Workload, folder: Path) -> None:
        super().__init__(work, folder)
        from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

        self.stager = DefaultStager(StagingOptions(False, False, False, False))
        self.future: Future[Any] | None = None

    def save(self) -> None:
        writer = dcp.FileSystemWriter(self.next_path(), sync_files=True)
        result = dcp.async_save(
            state_of(self.work), storage_writer=writer, async_stager=self.stager, no_dist=True
        )
        self.future = getattr(result, "upload_completion", result)

    def durable(self) -> bool:
        if self.future is None or not self.future.done():
            return self.future is None
        self.future.result()
        return True


class TorchCheckpointing(Engine):
    """meta-pytorch's, which does not sync. As it has to be used where steps are not wrapped in its
    lock, and without direct I/O, which fails here on ext4."""

    def __init__(self, work: Workload, folder: Path) -> None:
        super().__init__(work, folder)
        import torch_checkpointing as tc
        from torch_checkpointing.staging import CheckpointStagerConfig
        from torch_checkpointing.storage.filesystem import LocalFileSystemStorageConfig

        staging = CheckpointStagerConfig(
            use_pinned_memory=False, use_async_staging=False, use_non_blocking_copy=False
        )
        self.manager = tc.CheckpointManager(
            tc.CheckpointManager.Config(
                save=tc.AsyncCheckpointSaverConfig(staging_config=staging),
                storage_config=LocalFileSystemStorageConfig(use_direct_io=False),
            )
        )
        self.future: Any = None

    def save(self) -> None:
        if self.future is not None:
            self.future.result()
        self.future = self.manager.save(str(self.next_path()), state_of(self.work))

    def durable(self) -> bool:
        return self.future is None or self.future.done()

    def close(self) -> None:
        self.manager.close()


class DcpAsyncProcess(DcpAsyncThread):
    """It asks for a process group, also of one."""

    def __init__(self, work: Workload, folder: Path) -> None:
        super().__init__(work, folder)
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)

    def save(self) -> None:
        from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

        writer = dcp.FileSystemWriter(self.next_path(), sync_files=True)
        result = dcp.async_save(
            state_of(self.work),
            storage_writer=writer,
            async_checkpointer_type=AsyncCheckpointerType.PROCESS,
            async_stager=self.stager,
        )
        self.future = getattr(result, "upload_completion", result)


ENGINES = {
    "headway": Headway,
    "headway-rows": HeadwayRows,
    "headway-stream": HeadwayStream,
    "dcp.async_save-process": DcpAsyncProcess,
    "torch_checkpointing": TorchCheckpointing,
    "torch.save": TorchSave,
    "safetensors": Safetensors,
    "dcp.save": DcpSave,
    "dcp.async_save": DcpAsyncThread,
}
