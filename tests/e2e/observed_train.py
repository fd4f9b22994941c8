"""A compiled two-rank training run that keeps its own diary: the wall clock at the call sites whose
time Headway's hook claims to know. It does not import headway.

usage: observed_train.py DIARY_DIR CHECKPOINT [--steps N] [--sleep-in-start S]
"""

import json
import os
import sys
import time
from pathlib import Path

STARTED_NS = time.time_ns()

import argparse  # noqa: E402

import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch._dynamo.callback import callback_handler  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

IMPORTED_NS = time.time_ns()


def process_start_ns() -> int:
    """When this process was forked, by the kernel's books (10 ms grain)."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    boot_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return boot_ns + ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Diary:
    def __init__(self, folder: str, rank: int) -> None:
        name = f"{os.environ['TORCHELASTIC_RESTART_COUNT']}-{rank}.jsonl"
        self.path = Path(folder, name)

    def note(self, what: str, begin_ns: int, end_ns: int, step: int = 0) -> None:
        row = {"what": what, "begin": begin_ns, "end": end_ns, "step": step}
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


class Rows(torch.utils.data.Dataset):
    def __init__(self) -> None:
        time.sleep(0.15)

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((32,), float(index % 97))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        time.sleep(0.2)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).square().mean()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("diary")
    parser.add_argument("checkpoint")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--sleep-in-start", type=float, default=0.0)
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    diary = Diary(args.diary, rank)
    diary.note("imports", process_start_ns(), IMPORTED_NS)

    begin = time.time_ns()
    dist.init_process_group("gloo")
    diary.note("process_group_init", begin, time.time_ns())

    begin = time.time_ns()
    loader = torch.utils.data.DataLoader(Rows(), batch_size=16)
    diary.note("preproc_creation", begin, time.time_ns())

    begin = time.time_ns()
    torch.manual_seed(7)
    net = Net()
    model = DistributedDataParallel(net)
    diary.note("train_module_creation", begin, time.time_ns())

    begin = time.time_ns()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    diary.note("init_plugins", begin, time.time_ns())
    if args.sleep_in_start:
        diary.note("sleeping", time.time_ns(), time.time_ns())
        time.sleep(args.sleep_in_start)

    step = 0
    if os.path.exists(args.checkpoint):
        begin = time.time_ns()
        saved = torch.load(args.checkpoint)
        net.load_state_dict(saved["net"])
        step = saved["step"]
        diary.note("restore", begin, time.time_ns(), step)

    begin = time.time_ns()
    compiled = torch.compile(model)  # constructs a module around the model
    diary.note("train_module_creation", begin, time.time_ns())
    opened: list[int] = []

    def compile_begins(_args: object) -> None:
        opened.append(time.time_ns())

    def compile_ends(_args: object) -> None:
        diary.note("compile", opened.pop(), time.time_ns())

    callback_handler.register_start_callback(compile_begins)
    callback_handler.register_end_callback(compile_ends)

    asked = time.time_ns()
    for batch in loader:
        got = time.time_ns()
        diary.note("batch", asked, got, step + 1)
        loss = compiled(batch)
        loss.backward()
        optimizer.step()
        step += 1
        diary.note("step", got, time.time_ns(), step)
        optimizer.zero_grad()
        time.sleep(0.02)
        if step % 20 == 0 and rank == 0:
            begin = time.time_ns()
            torch.save({"step": step, "net": net.state_dict()}, args.checkpoint + ".tmp")
            diary.note("save", begin, time.time_ns(), step)
            os.replace(args.checkpoint + ".tmp", args.checkpoint)
        if step >= args.steps:
            break
        asked = time.time_ns()
    dist.barrier()  # else torch can deadlock in the end of a group that DDP still uses
    dist.destroy_process_group()
    diary.note("ended", time.time_ns(), time.time_ns(), step)


if __name__ == "__main__":
    main()
    sys.exit(0)
