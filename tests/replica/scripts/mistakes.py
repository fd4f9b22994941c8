"""Every mistake is answered by one line; prints the answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

import headway as hw
from headway.checkpoint import CheckpointError

folder = os.environ["FOLDER"]
model = torch.nn.Linear(4, 1)


def answer(name: str, mistake: Callable[[], Any]) -> None:
    try:
        mistake()
        print(name, "no answer")
    except CheckpointError as error:
        print(f"{name}: {error}")


answer("typo", lambda: hw.checkpointer(folder, model=model, every_step=10))
answer("nothing", lambda: hw.checkpointer(folder))
answer("text", lambda: hw.checkpointer(folder, model=model, every_steps="10"))
answer("negative", lambda: hw.checkpointer(folder, model=model, stage_steps=-1))

rows = torch.utils.data.DataLoader(torch.arange(8))
keeper = hw.checkpointer(folder, model=model, train_loader=rows)  # near an option, and none
print("parts", *keeper.parts)

keeper = hw.checkpointer(folder, model=model, every_steps=1)
keeper.save(1, wait=True)
keeper.close()
again = hw.checkpointer(folder, model=model, every_steps=1)
answer("save", lambda: again.save(2))
answer("maybe", lambda: again.maybe_save(2))
print("restored", again.restore(), again.maybe_save(2))
again.close()
