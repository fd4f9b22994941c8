"""ShardedTensors of torch.distributed._shard, as one of several ranks. MODE: save; async or
process, with dcp.async_save, after which everything is changed at once; load; or keep: into
hw.checkpointer, which does not take them."""

import os
from collections import OrderedDict

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed._shard import sharded_tensor
from torch.distributed._shard.sharded_tensor import Shard, init_from_local_shards
from torch.distributed._shard.sharding_spec import ChunkShardingSpec, ShardMetadata
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

import headway as hw

FOLDER = os.environ["FOLDER"]
MODE = os.environ["MODE"]


def chunked(rows: int, columns: int, dim: int, fill: float) -> torch.Tensor:
    """Each element is its place in the whole."""
    places = [f"rank:{rank}/cpu" for rank in range(dist.get_world_size())]
    tensor = sharded_tensor.zeros(ChunkShardingSpec(dim, places), rows, columns)
    whole = torch.arange(rows * columns, dtype=torch.float32).view(rows, columns) * fill
    for shard in tensor.local_shards():
        (row, column), (height, width) = shard.metadata.shard_offsets, shard.metadata.shard_sizes
        shard.tensor.copy_(whole[row : row + height, column : column + width])
    return tensor


def several(fill: float) -> torch.Tensor:
    """Two shards on every rank, which are not next to each other."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    height = 12 // ranks
    shards = []
    for half in range(2):
        begin = (half * ranks + rank) * height
        place = ShardMetadata([begin, 0], [height, 5], f"rank:{rank}/cpu")
        shards.append(Shard(torch.full((height, 5), fill * (1 + half)), place))
    return init_from_local_shards(shards, 24, 5)


def state(fill: float) -> dict:
    return {
        "rows": chunked(7, 3, 0, fill),
        "columns": chunked(4, 5, 1, fill),
        "several": several(fill),
        "plain": torch.full((3,), 5 * fill),
        "nested": OrderedDict(
            {"deep": [chunked(5, 2, 0, 2 * fill), torch.full((2,), 7 * fill)], "lr": fill}
        ),
    }


def spoil(value: object) -> None:
    """As a step that comes right after the save."""
    if isinstance(value, dict):
        for key in value:
            spoil(value[key])
        value.pop("lr", None)
    elif isinstance(value, list):
        for one in value:
            spoil(one)
        value.clear()
    elif isinstance(value, sharded_tensor.ShardedTensor):
        for shard in value.local_shards():
            shard.tensor.fill_(-1)
    elif isinstance(value, torch.Tensor):
        value.fill_(-1)


def check(loaded: object, wanted: object, name: str) -> None:
    if isinstance(wanted, dict):
        for key in wanted:
            check(loaded[key], wanted[key], key)
    elif isinstance(wanted, list):
        for have, want in zip(loaded, wanted, strict=True):
            check(have, want, name)
    elif isinstance(wanted, sharded_tensor.ShardedTensor):
        shards = loaded.local_shards()
        assert len(shards) == len(wanted.local_shards())
        for have, want in zip(shards, wanted.local_shards(), strict=True):
            assert torch.equal(have.tensor, want.tensor), name
    elif isinstance(wanted, torch.Tensor):
        assert torch.equal(loaded, wanted), name
    else:
        assert loaded == wanted, name


class Holder:
    def __init__(self, state: dict) -> None:
        self.state = state

    def state_dict(self) -> dict:
        return self.state

    def load_state_dict(self, state: dict) -> None:
        self.state = state


def main() -> None:
    dist.init_process_group("gloo")
    if MODE == "keep":
        hw.checkpointer(FOLDER + "-kept", table=Holder(state(1.0))).save(1)
    elif MODE == "load":
        loaded, wanted = state(0.0), state(1.0)
        dcp.load(loaded, storage_reader=hw.dcp.Reader(FOLDER))
        check(loaded, wanted, "")
    elif MODE in ("async", "process"):
        kind = AsyncCheckpointerType.PROCESS if MODE == "process" else AsyncCheckpointerType.THREAD
        given, writer = state(1.0), hw.dcp.Writer(FOLDER, step=3)
        saved = dcp.async_save(given, storage_writer=writer, async_checkpointer_type=kind)
        spoil(given)
        saved.result()
    else:
        dcp.save(state(1.0), storage_writer=hw.dcp.Writer(FOLDER, step=3))
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {MODE} done")
    dist.destroy_process_group()


if __name__ == "__main__":  # a process that saves imports this file again
    main()
