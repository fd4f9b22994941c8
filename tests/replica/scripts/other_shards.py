"""Parameters that are DTensors, over however many ranks there are. Goes on from what is saved, says
what it found and what it has after STEPS steps: the whole tensors, of the model and the optimizer,
which are the same for any number of ranks."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import headway as hw

STEPS = int(os.environ["STEPS"])
PLACES = {"rows": ((7, 3), Shard(0)), "columns": ((4, 5), Shard(1)), "same": ((2, 2), Replicate())}


class Spread(torch.nn.Module):
    def __init__(self, mesh) -> None:
        super().__init__()
        for name, (shape, where) in PLACES.items():
            spread = distribute_tensor(torch.randn(shape), mesh, [where])
            self.register_parameter(name, torch.nn.Parameter(spread))
        self.plain = torch.nn.Parameter(torch.randn(3))

    def learn(self, mesh, step: int) -> None:
        """Quarters and halves: no rank computes them with other digits than the next."""
        for name, parameter in self.named_parameters():
            whole = torch.arange(parameter.numel(), dtype=torch.float32).view(parameter.shape)
            whole = (whole + step) / 4
            spread = isinstance(parameter, DTensor)
            where = PLACES[name][1] if spread else None
            parameter.grad = distribute_tensor(whole, mesh, [where]) if spread else whole


def whole(model, optimizer) -> list:
    found = [*model.state_dict().items()]
    for name, parameter in model.named_parameters():
        found += [(f"{name}.{key}", one) for key, one in optimizer.state[parameter].items()]
    return [
        (name, (one.full_tensor() if isinstance(one, DTensor) else one).tolist())
        for name, one in sorted(found, key=lambda item: item[0])
    ]


def main() -> None:
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(int(os.environ.get("SEED", "1")))
    model = Spread(mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)
    keeper = hw.checkpointer(
        os.environ["FOLDER"], model=model, optimizer=optimizer, every_steps=STEPS
    )
    start = keeper.restore() or 0
    print(f"rank {dist.get_rank()} goes on after {start} from {keeper.restored_from}", flush=True)
    if start:
        print(f"rank {dist.get_rank()} found {whole(model, optimizer)}", flush=True)
    for step in range(start + 1, STEPS + 1):
        model.learn(mesh, step)
        optimizer.step()
        keeper.maybe_save(step)
    keeper.close()
    print(f"rank {dist.get_rank()} end {whole(model, optimizer)}", flush=True)
    dist.destroy_process_group()


main()
