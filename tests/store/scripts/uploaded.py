"""Trains, saves and waits until the last step is in the store; or, if there is something to go on
from, says where from. FOLDER, PLACE, STEPS, KEEP of them in the store."""

import os
import time

import torch

import headway as hw


def main() -> None:
    torch.manual_seed(1)
    model = torch.nn.Linear(512, 512)
    keeper = hw.checkpointer(
        os.environ["FOLDER"],
        model=model,
        every_steps=1,
        upload=os.environ["PLACE"],
        keep_uploaded=int(os.environ.get("KEEP", "0")),
    )
    start = keeper.restore() or 0
    print(f"goes on after {start} from {keeper.restored_from}: {model.weight.sum().item()!r}")
    for step in range(start + 1, int(os.environ["STEPS"]) + 1):
        with torch.no_grad():
            model.weight.mul_(1.01)
        keeper.save(step, wait=True)
        while keeper.last_uploaded != step:
            keeper.wait()
            time.sleep(0.01)
    print(f"uploaded {keeper.last_uploaded}, skipped {keeper.skipped_uploads}")
    print(f"end {model.weight.sum().item()!r}")
    keeper.close()


main()
