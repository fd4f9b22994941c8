"""A job on two nodes: `srun` starts an agent on each, Slurm's variables are all they need."""

from __future__ import annotations

import pathlib

import pytest

OPTIONS = ("--partition=wide", "--nodes=2", "--ntasks-per-node=1")
# Ranks meet after every step, as in a collective, and rank 1 takes its time to save.
TEXT = """
import os, pathlib, sys, time
import torch
import torch.distributed as dist
import headway as hw
dist.init_process_group("gloo")
rank = dist.get_rank()
kept = pathlib.Path(f"saved-{rank}")
first = int(kept.read_text()) if kept.exists() else 0
if first:
    hw.restore(first, first)
for step in hw.steps(range(first + 1, 61), start=first):
    dist.all_reduce(torch.ones(1))
    time.sleep(0.05)
    if rank == 0:
        print(f"step {step} of {os.environ['WORLD_SIZE']} ranks", flush=True)
    if hw.should_stop():
        time.sleep(2 * rank)
        kept.write_text(str(step))
        sys.exit(0)
dist.barrier()
"""


def test_it_is_preempted_and_goes_on(cluster, runner):
    if not cluster.nodes_have_names:
        pytest.skip("SLURM ON TWO NODES DID NOT RUN: the nodes' names need root's mount")
    job = runner.submit(runner.script(TEXT), *OPTIONS, hook=True, by="srun")
    job.wait_printed("] step 20 of 2 ranks\n")
    cluster.preempt(seconds=2, partition="widehigh", nodes=2)
    job.wait_requeued()
    saved = [pathlib.Path(runner.folder / f"saved-{rank}").read_text() for rank in (0, 1)]
    assert len(set(saved)) == 1, "both saved the same step, also the slow one"
    assert job.wait_over() == "COMPLETED", job.printed()
    assert job.printed().count("preempted; back in the queue") == 1, "one asks for all"
    report = runner.report()
    assert [row["attempt"] for row in report["attempts"]] == [1, 65537]
    assert (report["l1"]["preemptions"], report["l1"]["failures"]) == (1, 0)
    assert report["steps"]["finished"] == 60
    assert report["steps"]["replayed"] == 0
    assert report["coverage"]["ranks_reporting"] == 2
    assert sorted(p.name for p in (runner.folder / "jobs" / "j").glob("agent-*.lock")) == [
        "agent-n2.lock",
        "agent-n3.lock",
    ]
