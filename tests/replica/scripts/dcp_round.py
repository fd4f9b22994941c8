"""torch.distributed.checkpoint with Headway's storage, as one of several ranks.

MODE: save, async, process, load, apart. Sharded by rows, by columns, replicated, plain; numbers and
texts beside.
"""

import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import headway as hw
from headway.checkpoint import CheckpointUsageError

FOLDER = os.environ["FOLDER"]
MODE = os.environ["MODE"]


def state(fill: float) -> dict:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))

    def spread(rows: int, columns: int, where) -> torch.Tensor:
        whole = torch.arange(rows * columns, dtype=torch.float32).view(rows, columns)
        return distribute_tensor(whole * fill, mesh, [where])

    return {
        "rows": spread(7, 3, Shard(0)),
        "columns": spread(4, 5, Shard(1)),
        "same": spread(2, 2, Replicate()),
        "plain": torch.full((3,), 5 * fill, dtype=torch.bfloat16),
        "nested": {
            "lr": 0.5 * fill,
            "names": ["a", ("b", None)],
            "set": {torch.float32, 3},
            "table": torch.ones(4) * fill,
        },
    }


def main() -> None:
    dist.init_process_group("gloo")
    if MODE == "load":
        loaded = state(0.0)
        dcp.load(loaded, storage_reader=hw.dcp.Reader(FOLDER))
        wanted = state(1.0)
        for name in ("rows", "columns", "same"):
            assert torch.equal(loaded[name].to_local(), wanted[name].to_local()), name
        assert torch.equal(loaded["plain"], wanted["plain"])
        assert loaded["nested"]["lr"] == 0.5
        assert loaded["nested"]["names"] == ["a", ("b", None)]
        assert loaded["nested"]["set"] == {torch.float32, 3}
        assert torch.equal(loaded["nested"]["table"], torch.ones(4))
    elif MODE == "save":
        dcp.save(state(1.0), storage_writer=hw.dcp.Writer(FOLDER, step=3))
    elif MODE == "apart":  # torch knows no better: each rank would save what it has
        try:
            writer = hw.dcp.Writer(FOLDER, step=3)
            dcp.save(state(1.0), storage_writer=writer, use_collectives=False)
        except CheckpointUsageError as error:
            print(f"refused: {error}")
    else:
        kind = AsyncCheckpointerType.PROCESS if MODE == "process" else AsyncCheckpointerType.THREAD
        writer = hw.dcp.Writer(FOLDER, step=3)
        dcp.async_save(state(1.0), storage_writer=writer, async_checkpointer_type=kind).result()
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {MODE} done")
    dist.destroy_process_group()


if __name__ == "__main__":  # a process that saves imports this file again
    main()
