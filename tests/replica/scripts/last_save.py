"""A training of four steps, each saved, in whose last the disk fails: BREAK=1 puts a file in the
folder's place, FILL=1 fills the folder's disk. HOW it ends: close, save (which waits), forget,
finally (after an exception), or retry (the disk is mended before close). STAGING: full, stream.
WRAP=1: the model goes into DistributedDataParallel after restore(). QUIET=1: what was restored is
trained on without a word to the checkpointer."""

import os
import shutil

import torch

import headway as hw
from headway.checkpoint import CheckpointError

HOW = os.environ["HOW"]
folder = os.environ["FOLDER"]
model = torch.nn.Linear(64, 64)
keeper = hw.checkpointer(
    folder, model=model, every_steps=1, staging=os.environ.get("STAGING", "full")
)
start = keeper.restore() or 0
print("goes on after", start, keeper.restored_from, flush=True)
if os.environ.get("WRAP"):
    torch.distributed.init_process_group("gloo")
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
if start == 4 and os.environ.get("QUIET"):
    with torch.no_grad():
        model.weight.add_(1)


def breaks() -> None:
    if os.environ.get("BREAK"):
        shutil.move(folder, folder + ".aside")
        open(folder, "x").close()
    if os.environ.get("FILL"):
        with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
            for size in (1 << 16, 512, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass


def mends() -> None:
    os.remove(folder)
    shutil.move(folder + ".aside", folder)


for step in range(start + 1, 4):
    keeper.save(step, wait=True)
breaks()
try:
    if start < 4:
        with torch.no_grad():
            model.weight.fill_(4)
        if HOW == "save":
            keeper.save(4, wait=True)
        else:
            keeper.maybe_save(4)
        print("wait", keeper.wait(), keeper.failed, keeper.last_durable, flush=True)
    if HOW == "retry":
        mends()
    if HOW == "finally":
        raise ValueError("of the script")
    if HOW != "forget":
        keeper.close()
    print("closed", keeper.last_durable, flush=True)
except CheckpointError as error:
    print(f"{type(error).__name__}: {error}", flush=True)
    raise SystemExit(3) from None
finally:
    if HOW == "finally":
        keeper.close()
