"""Saves, kills the holder of its agent and ends at once: nobody asks for another holder."""

import os
import signal

import torch
from holder_of_script import holder

import headway as hw

keeper = hw.checkpointer(model=torch.nn.Linear(300, 300), folder=os.environ["FOLDER"])
keeper.restore()
keeper.save(1)
keeper.wait()
os.kill(holder(), signal.SIGKILL)
os._exit(0)
