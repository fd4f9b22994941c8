"""A training that can be killed at any step and must end as if it had not been.

FOLDER of checkpoints, STEPS to train, EVERY steps a save (0: it is tuned, to
very often; -1: it is tuned), STAGE: steps between
copies into memory, KILL: the step after
which one rank kills itself (once: a file remembers), PAUSE: steps after which it waits for a
file, KEEP: how many checkpoints, SLOW: seconds that a step takes longer, WIDTH of the model, WAIT:
every save is waited for, STAGED: every step is in memory before the next one. Prints what the end
of every run has to equal.
"""

import hashlib
import os
import random
import signal
import sys
import time

import numpy
import torch
import torch.distributed as dist

import headway as hw

STEPS = int(os.environ.get("STEPS", "12"))
EVERY = int(os.environ.get("EVERY", "2"))
WIDTH = int(os.environ.get("WIDTH", "64"))
KILL = int(os.environ.get("KILL", "0"))
SIGNAL = getattr(signal, os.environ.get("SIGNAL", "SIGKILL"))
RANKS = int(os.environ.get("WORLD_SIZE", "1"))
RANK = int(os.environ.get("RANK", "0"))
KILLED = os.environ["FOLDER"] + ".killed"
CADENCE = {-1: {}, 0: {"max_seconds": 0.2, "min_seconds": 0.05}}.get(EVERY, {"every_steps": EVERY})


def digest(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> str:
    whole = hashlib.sha256()
    for tensor in model.state_dict().values():
        whole.update(tensor.detach().numpy().tobytes())
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for key, value in sorted(optimizer.state[parameter].items()):
                whole.update(key.encode())
                whole.update(value.numpy().tobytes())
    return whole.hexdigest()[:16]


def main() -> None:
    if RANKS > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(1)
    random.seed(RANK)
    numpy.random.seed(RANK)
    model = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.BatchNorm1d(WIDTH), torch.nn.Linear(WIDTH, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    values = {"seen": [], "best": float("inf")}
    keeper = hw.checkpointer(
        os.environ["FOLDER"],
        model=model,
        optimizer=optimizer,
        scheduler=scheduler,
        values=values,
        keep_last=int(os.environ.get("KEEP", "3")),
        staging=os.environ.get("STAGING", "auto"),
        stage_steps=int(os.environ["STAGE"]) if "STAGE" in os.environ else None,
        **CADENCE,
    )
    start = keeper.restore() or 0
    print(f"rank {RANK} goes on after {start} from {keeper.restored_from}", flush=True)
    trained = torch.nn.parallel.DistributedDataParallel(model) if RANKS > 1 else model
    for step in range(start + 1, STEPS + 1):
        noise = random.random() + float(numpy.random.rand())
        loss = trained(torch.randn(8, WIDTH) + noise).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        values["seen"].append(step)
        values["best"] = min(values["best"], loss.item())
        # The first steps may be over before there is memory to save them into.
        if os.environ.get("SURE") or (step == 1 and os.environ.get("SURE_FIRST")):
            keeper.save(step)
        else:
            keeper.maybe_save(step)
        while os.environ.get("STAGED") and keeper.last_saved != step:
            time.sleep(0.01)
            keeper.maybe_save(step)
        if os.environ.get("WAIT"):
            keeper.wait()
        print(f"rank {RANK} step {step}", flush=True)
        time.sleep(float(os.environ.get("SLOW", "0")))
        if str(step) in os.environ.get("PAUSE", "0").split(","):
            print(f"rank {RANK} pauses after {step}", flush=True)
            while not any(
                os.path.exists(os.environ["FOLDER"] + go) for go in (".go", f".go-{step}")
            ):
                time.sleep(0.01)
        if hw.should_stop(step):
            sys.exit(0)
        if step == KILL and RANK == RANKS - 1 and not os.path.exists(KILLED):
            with open(KILLED, "x"):
                os.kill(os.getpid(), SIGNAL)
    keeper.close()
    print(
        f"rank {RANK} end {digest(model, optimizer)} {scheduler.get_last_lr()} {values['best']!r}"
    )
    assert values["seen"] == list(range(1, STEPS + 1)), values["seen"]
    if RANKS > 1:
        del trained
        dist.destroy_process_group()


main()
