"""Trains up to step STEPS on rows that the ranks share out, and prints every batch and the end."""

import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import headway as hw

STEPS = int(os.environ["STEPS"])


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout())
    optimizer = torch.optim.AdamW(model.parameters())
    rows = TensorDataset(torch.arange(48, dtype=torch.float32).view(-1, 1))
    loader = DataLoader(rows, 4, sampler=DistributedSampler(rows))
    values = {"rows": 0}
    parts = {"model": model, "optimizer": optimizer, "values": values}
    if os.environ.get("LOADER"):
        parts["loader"] = loader
    torch.manual_seed(2 + rank)
    keeper = hw.checkpointer(os.environ["FOLDER"], **parts, every_steps=STEPS)
    step = keeper.restore() or 0
    print(f"rank {rank} goes on after {step} from {keeper.restored_from}", flush=True)
    trained = torch.nn.parallel.DistributedDataParallel(model)
    epoch = keeper.epoch if "loader" in parts else 0
    while step < STEPS:
        loader.sampler.set_epoch(epoch)
        for (batch,) in loader:
            step += 1
            optimizer.zero_grad()
            trained(batch).square().mean().backward()
            optimizer.step()
            values["rows"] += len(batch)
            keeper.maybe_save(step)
            print(f"rank {rank} step {step} epoch {epoch} {batch.flatten().tolist()}", flush=True)
            if step == STEPS:
                break
        epoch += 1
    keeper.close()
    state = [tensor.flatten().tolist() for tensor in model.state_dict().values()]
    print(f"rank {rank} end {values} {torch.rand(1).item()} {state}", flush=True)
    del trained
    dist.destroy_process_group()


main()
