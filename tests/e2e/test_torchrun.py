"""torchrun restarts its ranks by itself inside `headway run -- torchrun …`: each of its restarts is
an attempt, the rank that died is named, and our own restart goes on from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))

# Rank 1 ends itself in the middle of each of the first LIVES lives of its job, as HOW says.
TRAIN = """
import os, sys, torch
import torch.distributed as dist
how, lives = sys.argv[1], int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    with open("lives", "a") as file:
        file.write("x")
dist.barrier()
life = os.path.getsize("lives")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(400, 8)), batch_size=4)
for step, (x,) in enumerate(data, 1):
    model(x).sum().backward()
    optimizer.step()
    if step == 30 and rank == 1 and life <= lives:
        if how == "kill":
            os.kill(os.getpid(), 9)
        raise ValueError("bad batch")
del model  # else torch can deadlock in the end of a group that DDP still uses
dist.destroy_process_group()
"""


class Torchrun:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "train.py").write_text(TRAIN)
        self.env = dict(os.environ, HEADWAY_DIR=str(folder / "jobs"))
        # Without it torchrun's restarts meet the dead ranks' addresses in the store (torch 2.13).
        self.env["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"

    def run(self, how: str, lives: int, *, inner: int, outer: int) -> tuple[int, str, dict]:
        """Exit code, stderr and the report's JSON; `inner` restarts by torchrun, `outer` by us."""
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node=2", f"--max-restarts={inner}", "train.py", how, str(lives)]
        done = subprocess.run(
            [BIN, "run", "--job", "j", f"--max-restarts={outer}", "--", *command],
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        report = [BIN, "report", "j", "--json"]
        text = subprocess.run(report, env=self.env, capture_output=True, text=True, check=True)
        return done.returncode, done.stderr, json.loads(text.stdout)


@pytest.fixture
def torchrun(tmp_path: Path) -> Torchrun:
    return Torchrun(tmp_path)


def test_restarts_of_torchrun_and_of_ours_are_attempts_of_one_job(torchrun: Torchrun) -> None:
    code, errors, report = torchrun.run("kill", 2, inner=1, outer=1)
    assert code == 0, errors
    assert "3 attempts, 2 failures" in errors
    # 1 and 2 are torchrun's own; it gave up; 3 is the agent's restart of torchrun.
    assert [row["attempt"] for row in report["attempts"]] == [1, 2, 3]
    assert [row["outcome"] for row in report["attempts"]] == ["failed", "failed", "clean"]
    assert [row["steps"] for row in report["attempts"]] == [30, 30, 100]
    assert report["state"] == "finished"
    for row, attempt in zip(report["failures"], (1, 2), strict=True):
        assert (row["attempt"], row["rank"], row["signal"]) == (attempt, 1, 9), row
        assert row["origin"] == "unknown", "killed, not a fault of the script"
        assert row["time_to_recover_ns"] > 0
    assert report["coverage"]["ranks_reporting"] == report["coverage"]["ranks_expected"] == 2
    assert report["coverage"]["overlap_ns"] == 0


def test_the_exception_is_named_when_torchrun_gives_up(torchrun: Torchrun) -> None:
    code, errors, report = torchrun.run("raise", 9, inner=0, outer=0)
    assert code == 1, errors
    assert report["state"] == "failed"
    (row,) = report["failures"]
    assert (row["rank"], row["exit_code"], row["origin"]) == (1, 1, "user")
    assert row["reason"] == "ValueError: bad batch"
