"""Every mistake is answered by one line; prints the answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
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
answer("no number", lambda: again.save("3"))
answer("below", lambda: again.save(-3))
answer("fraction", lambda: again.maybe_save(2.5))
answer("truth", lambda: again.maybe_save(True))
answer("data", lambda: again.save(3, data="x"))
again.save(numpy.int64(3))
print("numpy", again.last_saved)
again.close()
answer("closed", lambda: again.save(4))
answer("closed too", lambda: again.maybe_save(4))
answer("closed for good", again.restore)
answer("values", lambda: hw.checkpointer(folder, model=model, values=[1]))
tables = torch.nn.Sequential(torch.nn.Embedding(4, 2))
answer("dense", lambda: hw.checkpointer(folder, model=tables, staging="rows"))
