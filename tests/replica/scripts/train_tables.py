"""A training of embedding tables that can be killed at any step and must end as if it had not been.

FOLDER of checkpoints, STEPS, KILL: the step after which the last rank kills itself (once),
OPTIMIZER of the tables, DENSE: their gradients are, STAGING, STAGE_ONLY: of so many saves one goes
to the disk, BY_HAND: the step before which a whole table is changed past the optimizer, SWITCH:
"5:full 8:rows" after which steps it saves in another way, ALL_UNTIL: the step up to which every row
changes, AGAIN: saves after which rows are tried again, OFTEN: it could stage between saves,
which takes memory for one copy more, WORDY: "1:3,6" of rank 1 what is saved becomes four times as
long before these saves. Prints what the end of every run has to equal.
"""

import hashlib
import os
import signal
import warnings

import torch
import torch.distributed as dist

import headway as hw
from headway.checkpoint import speed

STEPS = int(os.environ.get("STEPS", "12"))
KILL = int(os.environ.get("KILL", "0"))
ROWS = int(os.environ.get("ROWS", "20000"))
RANKS = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
DENSE = "DENSE" in os.environ
ALL_UNTIL = int(os.environ.get("ALL_UNTIL", "0"))
SWITCH = dict(word.split(":") for word in os.environ.get("SWITCH", "").split())
WORDY_RANK, _, WORDY = os.environ.get("WORDY", "").partition(":")
KILLED = os.environ["FOLDER"] + ".killed"
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=0.1),
    "sparse_adam": lambda parameters: torch.optim.SparseAdam(parameters, lr=0.1),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.1),
}


class Model(torch.nn.Module):
    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.user = torch.nn.EmbeddingBag(ROWS, 16, mode="sum", sparse=sparse)
        self.item = torch.nn.Embedding(ROWS // 2, 16, sparse=sparse)
        self.top = torch.nn.Linear(32, 1)

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        return self.top(torch.cat([self.user(users), self.item(items)], dim=1))


def digest(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> str:
    whole = hashlib.sha256()
    for tensor in model.state_dict().values():
        whole.update(tensor.detach().numpy().tobytes())
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for _, value in sorted(optimizer.state[parameter].items()):
                data = value.numpy().tobytes() if isinstance(value, torch.Tensor) else repr(value)
                whole.update(data if isinstance(data, bytes) else data.encode())
    return whole.hexdigest()[:16]


def main() -> None:
    if RANKS > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(1)
    kind = os.environ.get("OPTIMIZER", "sgd")
    model = Model(sparse=kind != "adam" and not DENSE)
    weights = [model.user.weight, model.item.weight]
    tables = OPTIMIZERS[kind](weights)
    top = torch.optim.Adam(model.top.parameters())
    said = {"words": "-" * 1000}
    keeper = hw.checkpointer(
        os.environ["FOLDER"],
        model=model,
        optimizer=tables,
        top=top,
        values=said,
        every_steps=1000,
        stage_steps=1 if "OFTEN" in os.environ else None,
        keep_last=int(os.environ.get("KEEP", "3")),
        staging=os.environ.get("STAGING", "auto"),
        tables=weights if DENSE else (),
    )
    start = keeper.restore() or 0
    print(f"rank {RANK} goes on after {start} from {keeper.restored_from}", flush=True)
    trained = torch.nn.parallel.DistributedDataParallel(model) if RANKS > 1 else model
    for step in range(start + 1, STEPS + 1):
        users = torch.randint(ROWS, (8, 5))
        items = torch.randint(ROWS // 2, (8,))
        if step <= ALL_UNTIL:
            users, items = torch.arange(ROWS).view(-1, 2), torch.arange(ROWS // 2)
        if step == int(os.environ.get("BY_HAND", "0")):
            with torch.no_grad():
                model.user.weight.mul_(0.5)
        for optimizer in (tables, top):
            optimizer.zero_grad()
        trained(users, items).square().mean().backward()
        for optimizer in (tables, top):
            optimizer.step()
        if str(RANK) == WORDY_RANK and str(step) in WORDY.split(","):
            said["words"] *= 4
        every = int(os.environ.get("STAGE_ONLY", "1"))
        if step % every == 0:
            keeper.save(step)
        else:
            assert keeper._stage(step, None, persist=False, wait_s=60)
        print(f"rank {RANK} step {step} {keeper.staging.mode}", flush=True)
        if str(step) in SWITCH:
            keeper.switch_staging(SWITCH[str(step)])
        if step == KILL and RANK == RANKS - 1 and not os.path.exists(KILLED):
            with open(KILLED, "x"):
                os.kill(os.getpid(), signal.SIGKILL)
    keeper.wait()
    print(f"rank {RANK} end {digest(model, tables)} {digest(model, top)}")
    if RANKS > 1:
        del trained
        dist.destroy_process_group()


warnings.simplefilter("always")
speed.AGAIN = int(os.environ.get("AGAIN", speed.AGAIN))
main()
