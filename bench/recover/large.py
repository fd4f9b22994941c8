"""Two gloo ranks, two GiB of embedding tables on each, a checkpoint now and then: by torch.save, or
by hw.checkpointer (SAVE_BY=headway). Rank 0 writes the time of every step, and of every step that
is saved, to files. Runs the same under any launcher of torchrun's kind.

large.py FOLDER
"""

import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

IMPORTED_NS = time.time_ns()
FOLDER = Path(sys.argv[1])
GIB = float(os.environ.get("LARGE_GIB", "2"))
EVERY = 40
TABLES, WIDTH, BAGS = 8, 64, 512


class Ranking(nn.Module):
    def __init__(self, rows: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(rows, WIDTH, mode="sum", sparse=True) for _ in range(TABLES)
        )
        self.top = nn.Sequential(nn.Linear(TABLES * WIDTH, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        bags = [table(one) for table, one in zip(self.tables, ids, strict=True)]
        return self.top(torch.cat(bags, dim=1))


class BySave:
    """The newest state in one file, as scripts do it."""

    def __init__(self, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.parts = {"net": net, "optimizer": optimizer}
        self.path = FOLDER / "ck.pt"

    def restore(self) -> int:
        if not self.path.exists():
            return 0
        state = torch.load(self.path)
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        return state["step"]

    def save(self, step: int) -> None:
        if dist.get_rank() == 0:
            state = {name: part.state_dict() for name, part in self.parts.items()}
            torch.save({"step": step, **state}, self.path.with_suffix(".new"))
            os.replace(self.path.with_suffix(".new"), self.path)
        dist.barrier()


class ByHeadway:
    def __init__(self, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        import headway as hw

        self.keeper = hw.checkpointer(FOLDER / "checkpoints", model=net, optimizer=optimizer)

    def restore(self) -> int:
        return self.keeper.restore() or 0

    def save(self, step: int) -> None:
        self.keeper.save(step, wait=True)


def note(name: str, text: str) -> None:
    file = os.open(FOLDER / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, f"{text}\n".encode())
    os.close(file)


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    note(f"pids-{rank}", f"{os.getpid()} {IMPORTED_NS}")
    torch.manual_seed(0)
    with torch.device("meta"):  # whoever goes on needs no weights to begin with
        net = Ranking(round(GIB * (1 << 30) / TABLES / WIDTH / 4))
    net = net.to_empty(device="cpu")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    keeper = (ByHeadway if os.environ.get("SAVE_BY") == "headway" else BySave)(net, optimizer)
    step = keeper.restore()
    if step == 0:
        for parameter in net.parameters():
            nn.init.normal_(parameter, std=0.01)
    model = DistributedDataParallel(net, init_sync=False)  # they are the same on both by now
    ids = torch.randint(0, net.tables[0].num_embeddings, (TABLES, BAGS, 4))
    while not (FOLDER / "stop").exists():
        optimizer.zero_grad()
        model(ids).square().mean().backward()
        optimizer.step()
        step += 1
        if rank == 0:
            note("diary", f"{step} {time.monotonic_ns()}")
        if step % EVERY == 0:
            keeper.save(step)
            if rank == 0:
                note("saved", f"{step} {time.monotonic_ns()}")
        dist.barrier()
    os._exit(0)


main()
