"""Copies of a state for dcp.async_save: torch's own way of making them, to which ShardedTensors are
unknown, and those beside."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.distributed.checkpoint import staging


def copied(state: dict[str, Any]) -> Any:
    """In the processor's memory, and nothing of it is shared with `state`."""
    stager = _torchs_own()
    try:
        return stager.stage(_marked(state))
    finally:
        stager.close()


def _torchs_own() -> Any:
    """What async_save() takes where nobody names another."""
    if hasattr(staging, "DefaultStager"):
        return staging.DefaultStager(staging.StagingOptions(False, False, False, False))
    return staging.BlockingAsyncStager()


class _Marked:
    """A ShardedTensor on its way through a deep copy."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __deepcopy__(self, memo: Any) -> Any:
        return _copy_of(self._tensor)


def _marked(value: Any) -> Any:
    from torch.distributed._shard.sharded_tensor import ShardedTensor

    if isinstance(value, ShardedTensor):
        return _Marked(value)
    if type(value) is tuple:
        return tuple(_marked(item) for item in value)
    if not isinstance(value, (dict, list)):
        return value
    items = [*value.items()] if isinstance(value, dict) else [*enumerate(value)]
    marked = {key: _marked(item) for key, item in items}
    changed = [key for key, item in items if marked[key] is not item]
    if changed:
        value = copy.copy(value)  # of its own kind: state_dict() of a model is an OrderedDict
        for key in changed:
            value[key] = marked[key]
    return value


def _copy_of(tensor: Any) -> Any:
    """Its shards of this rank; where those of others are is known to each."""
    from torch.distributed._shard.sharded_tensor import Shard, ShardedTensor

    def near(metadata: Any) -> Any:
        metadata = copy.deepcopy(metadata)
        if metadata.placement is not None:
            metadata.placement._device = torch.device("cpu")
        return metadata

    def own(shard: Any) -> Any:
        here = shard.tensor.detach()
        here = here.to("cpu", copy=True, memory_format=torch.contiguous_format)
        return Shard(here, near(shard.metadata))

    shards = [own(shard) for shard in tensor.local_shards()]
    whole = copy.deepcopy(tensor.metadata())
    whole.tensor_properties.requires_grad = whole.tensor_properties.pin_memory = False
    whole.shards_metadata = [near(metadata) for metadata in whole.shards_metadata]
    return ShardedTensor._init_from_local_shards_and_global_metadata(
        shards, sharded_tensor_metadata=whole, process_group=tensor._process_group
    )
