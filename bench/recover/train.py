"""Two gloo ranks, a tiny model, a checkpoint after every step: what is left is the recovery itself.
Rank 0 writes the time of every step to a file. Runs the same under any launcher of torchrun's kind.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

IMPORTED_NS = time.time_ns()
folder = sys.argv[1]
checkpoint = os.path.join(folder, "ck.pt")


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    with open(os.path.join(folder, f"pids-{rank}"), "a") as pids:
        pids.write(f"{os.getpid()} {IMPORTED_NS}\n")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(net.parameters())
    step = 0
    if os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    model = DistributedDataParallel(net)
    diary = os.open(os.path.join(folder, "diary"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while not os.path.exists(os.path.join(folder, "stop")):
        optimizer.zero_grad()
        model(torch.ones(8, 32)).sum().backward()
        optimizer.step()
        step += 1
        if rank == 0:
            os.write(diary, f"{step} {time.monotonic_ns()}\n".encode())
            state = {"step": step, "net": net.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, checkpoint + ".new")
            os.replace(checkpoint + ".new", checkpoint)
        dist.barrier()
        time.sleep(0.01)
    os._exit(0)


main()
