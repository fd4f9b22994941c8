"""Every mistake is answered by one line; prints the answers."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from functools import partial
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
streamed = {"staging": "stream", "every_steps": 9, "stage_steps": 1}
answer("streamed", lambda: hw.checkpointer(folder, model=model, **streamed))
sgd = torch.optim.SGD(model.parameters(), lr=0.1)
state = model.state_dict()
for name, options in {
    "string": {"model": "model.pt"},
    "state": {"model": state},
    "swapped": {"model": sgd, "optimizer": model},
    "swapped too": {"model": model, "optimizer": model},
    "no optimizer": {"model": model, "optimizer": sgd.state_dict()},
    "kept": {"model": model, "keep_last": -1},
    "kept half": {"model": model, "keep_last": 1.5},
    "hours": {"model": model, "keep_every_hours": -1},
    "seconds": {"model": model, "min_seconds": 20, "max_seconds": 10},
    "staged": {"model": model, "stage_steps": 2},
    "staged seldom": {"model": model, "every_steps": 2, "stage_steps": 3},
    "buffer": {"model": model, "stream_bytes": 1 << 20},
    "tables": {"model": model, "tables": ["emb"]},
    "table": {"model": model, "tables": model.weight},
}.items():
    answer(name, partial(hw.checkpointer, folder, **options))
for given in (None, 5, ""):
    answer(f"folder {given!r}", partial(hw.checkpointer, given, model=model))

rows = torch.utils.data.DataLoader(torch.arange(8))
keeper = hw.checkpointer(folder, model=model, train_loader=rows)  # near an option, and none
print("parts", *keeper.parts)
answer("second", lambda: hw.checkpointer(folder + "/../" + os.path.basename(folder), model=model))
keeper.close()

keeper = hw.checkpointer(folder, model=model, every_steps=1)
keeper.save(1, wait=True)
keeper.close()
again = hw.checkpointer(folder, model=model, every_steps=1)
answer("save", lambda: again.save(2))
answer("maybe", lambda: again.maybe_save(2))
print("restored", again.restore())
again.save(2)
answer("no number", lambda: again.save("3"))
answer("below", lambda: again.save(-3))
answer("fraction", lambda: again.maybe_save(2.5))
answer("truth", lambda: again.maybe_save(True))
answer("data", lambda: again.save(3, data="x"))
again.save(numpy.int64(3))
print("numpy", again.last_saved)
answer("back", lambda: again.save(1))
answer("maybe back", lambda: again.maybe_save(2))
again.close()
answer("closed", lambda: again.save(4))
answer("closed too", lambda: again.maybe_save(4))
answer("closed for good", again.restore)
answer("values", lambda: hw.checkpointer(folder, model=model, values=[1]))
tables = torch.nn.Sequential(torch.nn.Embedding(4, 2))
answer("dense", lambda: hw.checkpointer(folder, model=tables, staging="rows"))
answer("a file", lambda: hw.checkpointer(__file__, model=model))
inside = glob.glob(f"{folder}/step-*")[0]
answer("inside", lambda: hw.checkpointer(inside, model=model))
sparse = torch.nn.Embedding(10, 2, sparse=True)
keeper = hw.checkpointer(folder + "-rows", model=sparse, staging="rows")
keeper.touched(sparse.weight, [1, 9])
keeper.touched(sparse.weight, [])
answer("row", lambda: keeper.touched(sparse.weight, [5000]))
answer("row below", lambda: keeper.touched(sparse.weight, torch.tensor([-1])))
answer("row text", lambda: keeper.touched(sparse.weight, ["a"]))
answer("row half", lambda: keeper.touched(sparse.weight, [1.5]))
keeper.close()
