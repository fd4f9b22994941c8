"""Two ranks whose parameters should be the same. APART: the name of the one that is not."""

import os

import torch
import torch.distributed as dist

import headway as hw


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.BatchNorm1d(300))
    model[1].running_mean += dist.get_rank()  # a buffer: each rank has its own
    optimizer = torch.optim.Adam(model.parameters())
    if apart := os.environ.get("APART"):
        with torch.no_grad():
            model.get_parameter(apart).add_(dist.get_rank())
    keeper = hw.checkpointer(os.environ["FOLDER"], model=model, optimizer=optimizer, every_steps=1)
    for step in range(1, 20):
        keeper.save(step)
    keeper.close()
    print(f"rank {dist.get_rank()} is done", flush=True)
    dist.destroy_process_group()


main()
