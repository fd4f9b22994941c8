"""dcp.save as one of several ranks, into a folder that somebody else may save into. HOW: plain;
slow, it stands in the middle of its save until FOLDER.go is there; twice, the first one fails, and
the second comes while the error of the first is still held."""

import os
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

import headway as hw

FOLDER, HOW = os.environ["FOLDER"], os.environ["HOW"]


class Slow(hw.dcp.Writer):
    def write_data(self, plan, planner):
        print(f"rank {dist.get_rank()} writes", flush=True)
        while not os.path.exists(FOLDER + ".go"):
            time.sleep(0.01)
        return super().write_data(plan, planner)


class Failing(hw.dcp.Writer):
    def write_data(self, plan, planner):
        if dist.get_rank() > 0:
            raise RuntimeError("broken on purpose")
        return super().write_data(plan, planner)


def save(writer) -> None:
    try:
        dcp.save({"w": torch.full((4,), float(dist.get_rank()))}, storage_writer=writer)
        print(f"rank {dist.get_rank()} saved", flush=True)
    except dcp.CheckpointException as error:
        for cause, _ in error.failures.values():
            print(f"rank {dist.get_rank()} refused: {cause}", flush=True)
        if HOW == "twice" and isinstance(writer, Failing):
            save(hw.dcp.Writer(FOLDER, step=2))


dist.init_process_group("gloo")
kind = {"plain": hw.dcp.Writer, "slow": Slow, "twice": Failing}[HOW]
save(kind(FOLDER, step=1))
dist.destroy_process_group()
