"""examples/resume/train.py with a diary: what it does now (for whoever wants to kill it there), and
every step it has trained (for whoever counts them afterwards)."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

EXAMPLE = Path(__file__).parents[2] / "examples" / "resume" / "train.py"
spec = importlib.util.spec_from_file_location("resume_train", EXAMPLE)
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)

rank = os.environ["RANK"]
now = os.open(f"now-{rank}", os.O_WRONLY | os.O_CREAT, 0o644)
diary = os.open(f"diary-{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def say(phase: str) -> None:
    os.pwrite(now, f"{os.getpid():>8} {phase:<8}".encode(), 0)


def note_step(optimizer: object, args: object, kwargs: object) -> None:
    global step
    step += 1
    os.write(diary, f"{os.environ['HEADWAY_ATTEMPT']} {step}\n".encode())
    say("step")
    time.sleep(0.003)


def slow_save(*args: object) -> None:
    say("save")
    plain_save(*args)
    say("step")


def told_load(*args: object, **kwargs: object) -> dict:
    global step
    state = plain_load(*args, **kwargs)
    step = state["step"]
    return state


step = 0
say("start")
plain_save, example.save = example.save, slow_save
plain_load, torch.load = torch.load, told_load
register_optimizer_step_post_hook(note_step)
example.main()
say("end")
time.sleep(0.05)
sys.stdout.flush()
