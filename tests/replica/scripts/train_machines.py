"""A rank of a job on several machines. Everything that a rank may have of its own matters to how it
ends: random numbers, buffers that nobody broadcasts, its place in shuffled data, values.

FOLDER of checkpoints, STEPS to train, each staged into memory; DISK: the step that also goes to the
disk, straight; PAUSE: the step after which it waits to be killed; MESH: "data" parallel, "hybrid"
(sharded over the ranks of a machine, the same on all machines) or "shards" (over all ranks).
BREAK: "receive" has rank 1 fail where it puts what it gets; "die" has it killed there. OWN: bytes
that each rank has for itself. Prints what the end of every run has to equal, for every rank.
"""

import hashlib
import os
import random
import signal
import time

import numpy
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import headway as hw
from headway.checkpoint import transfer

STEPS = int(os.environ.get("STEPS", "10"))
PAUSE = int(os.environ.get("PAUSE", "0"))
DISK = int(os.environ.get("DISK", "0"))
RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
MESH = os.environ.get("MESH", "data")
WIDTH = 32


class Spread(torch.nn.Module):
    """Parameters that are DTensors, and a buffer of this rank's."""

    def __init__(self) -> None:
        super().__init__()
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Replicate, Shard, distribute_tensor

        local = int(os.environ["LOCAL_WORLD_SIZE"])
        shape = (RANKS // local, local) if MESH == "hybrid" else (RANKS,)
        mesh = init_device_mesh("cpu", shape)
        places = [Replicate(), Shard(0)] if MESH == "hybrid" else [Shard(0)]
        for name, rows in (("big", 4096), ("odd", 7)):
            whole = torch.randn(rows, WIDTH)
            self.register_parameter(
                name, torch.nn.Parameter(distribute_tensor(whole, mesh, places))
            )
        self.whole = torch.nn.Parameter(torch.randn(WIDTH))
        self.register_buffer("count", torch.full((), float(RANK)))

    def learn(self, step: int) -> None:
        """A gradient that is the same for the same rows, whoever has them."""
        from torch.distributed.tensor import DTensor

        drawn = torch.Generator().manual_seed(step)
        for parameter in self.parameters():
            whole = torch.randn(parameter.shape, generator=drawn)
            if isinstance(parameter, DTensor):
                mesh, places = parameter.device_mesh, parameter.placements
                piece = torch.chunk(whole, mesh.size(mesh.ndim - 1))
                mine = mesh.get_coordinate()[-1]
                local = piece[mine] if mine < len(piece) else whole[:0]
                parameter.grad = DTensor.from_local(
                    local, mesh, places, run_check=False, shape=whole.shape, stride=whole.stride()
                )
            else:
                parameter.grad = whole
        self.count += torch.rand(()) + random.random()


def digest(model, optimizer, values) -> str:
    whole = hashlib.sha256()

    def add(tensor):
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        whole.update(local.detach().numpy().tobytes())

    for tensor in model.state_dict().values():
        add(tensor)
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for key, value in sorted(optimizer.state[parameter].items()):
                whole.update(key.encode())
                add(value)
    drawn = (torch.rand(2).tolist(), random.random(), float(numpy.random.rand()))
    whole.update(repr((drawn, values["seen"])).encode())
    return whole.hexdigest()[:16]


def average(model: torch.nn.Module) -> None:
    """Always in the same order: DistributedDataParallel takes another one in the first step of a
    process than afterwards, and with more than two ranks the sums are not the same then."""
    for parameter in model.parameters() if RANKS > 1 else ():
        dist.all_reduce(parameter.grad)
        parameter.grad /= RANKS


def break_what_receives() -> None:
    how = os.environ.get("BREAK", "")
    if RANK != 1 or not how:
        return
    begun = transfer._Receiving.__init__

    def fails(self, group, message, target):
        begun(self, group, message, target)
        if how == "die" and message.what == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    def cannot(self):
        raise RuntimeError("broken on purpose")

    transfer._Receiving.__init__ = fails
    if how == "receive":
        transfer._Receiving.put = cannot


def main() -> None:
    torch.set_num_threads(1)
    if RANKS > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(1)
    if MESH == "data":
        model = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH),
            torch.nn.BatchNorm1d(WIDTH),
            torch.nn.Dropout(0.3),
            torch.nn.Linear(WIDTH, 1),
        )
    else:
        model = Spread()
    torch.manual_seed(100 + RANK)
    random.seed(RANK)
    numpy.random.seed(RANK)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    numbers = torch.arange(96)
    items = torch.randn(96, WIDTH, generator=torch.Generator().manual_seed(5))
    data = TensorDataset(numbers, items)
    sampler = DistributedSampler(data, RANKS, RANK, shuffle=True, seed=7)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    own = torch.full((int(os.environ.get("OWN", "0")),), float(RANK))
    values = {"seen": [], "own": own, "rank": RANK}
    keeper = hw.checkpointer(
        os.environ["FOLDER"],
        model=model,
        optimizer=optimizer,
        loader=loader,
        values=values,
        every_steps=int(os.environ.get("EVERY", "100000")),
        stage_steps=1,
        staging="full",
    )
    break_what_receives()
    step = keeper.restore() or 0
    print(f"rank {RANK} goes on after {step} from {keeper.restored_from}", flush=True)
    while step < STEPS:
        sampler.set_epoch(keeper.epoch)
        for which, batch in loader:
            step += 1
            optimizer.zero_grad()
            if MESH == "data":
                noise = random.random() + float(numpy.random.rand())
                model(batch + noise).square().mean().backward()
                average(model)
            else:
                model.learn(step)
            optimizer.step()
            values["seen"].append(which.tolist())
            if step == DISK:
                keeper.switch_staging("stream")
                keeper.save(step)
                keeper.switch_staging("full")
            else:
                while not keeper.maybe_save(step):  # there is no memory yet
                    time.sleep(0.01)
            print(f"rank {RANK} step {step}", flush=True)
            if step == PAUSE:
                print(f"rank {RANK} pauses after {step}", flush=True)
                time.sleep(600)
            if step == STEPS:
                break
    assert values["rank"] == RANK or os.environ.get("OTHERS"), values["rank"]
    print(f"rank {RANK} end {digest(model, optimizer, values)}", flush=True)
    if RANKS > 1:
        dist.destroy_process_group()


main()
