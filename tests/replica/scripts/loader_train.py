"""Trains on a DataLoader, is killed, and trains on: the loop is that of a script without Headway.

LOADER: plain, workers, iterable, stateful, accelerate. KILL: the step after which it kills itself,
once. With several ranks a DistributedSampler shares the rows out. Prints every batch, and the end.
"""

import os
import signal
import warnings

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, TensorDataset

import headway as hw

RANKS = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
KILL = int(os.environ.get("KILL", "0"))
KIND = os.environ["LOADER"]
KILLED = os.environ["FOLDER"] + ".killed"
ROWS, EPOCHS = 26, 3

warnings.filterwarnings("ignore", message="This DataLoader will create")


class Stream(IterableDataset):
    def __iter__(self):
        yield from ROWS_OF.tensors[0][torch.randperm(ROWS)]


ROWS_OF = TensorDataset(torch.arange(ROWS, dtype=torch.float32).view(-1, 1))


def first(rows):
    return torch.stack([row[0] for row in rows])


def make() -> DataLoader:
    if KIND == "iterable":
        return DataLoader(Stream(), 4)
    sampler = DistributedSampler(ROWS_OF, RANKS, RANK) if RANKS > 1 else None
    options = {"shuffle": sampler is None, "sampler": sampler, "collate_fn": first}
    if KIND == "stateful":
        from torchdata.stateful_dataloader import StatefulDataLoader

        return StatefulDataLoader(ROWS_OF, 4, num_workers=2, **options)
    loader = DataLoader(ROWS_OF, 4, num_workers=2 if KIND == "workers" else 0, **options)
    if KIND == "accelerate":
        from accelerate import Accelerator

        loader = Accelerator(cpu=True).prepare(loader)
    return loader


def main() -> None:
    if RANKS > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    loader = make()
    values = {"epoch": 0}
    keeper = hw.checkpointer(
        os.environ["FOLDER"],
        model=model,
        optimizer=optimizer,
        loader=loader,
        values=values,
        every_steps=1,
    )
    step = keeper.restore() or 0
    print(f"goes on after {step}", flush=True)
    for epoch in range(values["epoch"] if KIND == "stateful" else keeper.epoch, EPOCHS):
        if RANKS > 1:
            loader.sampler.set_epoch(epoch)
        for batch in loader:
            step += 1
            loss = model(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            keeper.save(step)
            print(f"rank {RANK} step {step} epoch {epoch} {batch.flatten().tolist()}", flush=True)
            if step == KILL and RANK == RANKS - 1 and not os.path.exists(KILLED):
                with open(KILLED, "x"):
                    os.kill(os.getpid(), signal.SIGKILL)
        values["epoch"] = epoch + 1
    keeper.close()
    weights = [parameter.flatten().tolist() for parameter in model.parameters()]
    print(f"rank {RANK} end {weights}", flush=True)
    if RANKS > 1:
        dist.destroy_process_group()


main()
