"""A value that no file can hold without pickle: said when the checkpointer is made."""

import os

import torch

import headway as hw


class Thing:
    pass


hw.checkpointer(
    os.environ["FOLDER"],
    model=torch.nn.Linear(2, 2),
    values={"deep": [0, {"thing": Thing()}]},
)
print("made")
