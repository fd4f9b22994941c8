"""A rank that stands still: its stack is taken, it is named, and the job goes on."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

LIMIT = "3"  # seconds; a busy machine may make a rank wait for one
# Ranks meet in a collective of gloo after every step. Rank 1 never comes to step 5 the first time.
TEXT = """
import os, time
import torch
import torch.distributed as dist
import headway as hw

def stuck():
    time.sleep(1000)

def meet():
    dist.all_reduce(torch.ones(1))

dist.init_process_group("gloo")
rank, life = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
for step in hw.steps(range(8)):
    if step == 5 and rank == "1" and life == "0":
        stuck()
    meet()
dist.destroy_process_group()
"""


@pytest.mark.parametrize("tool", ["py-spy", "faulthandler"])
def test_the_lagging_rank_is_named_and_the_job_goes_on(hooked, tool):
    python = sys.executable
    if tool == "py-spy":
        if not (Path(sys.executable).parent / "py-spy").exists():
            pytest.fail("py-spy is not installed in this environment; ./dev setup installs it")
    else:  # an interpreter without it beside, and a PATH without it
        python = str(hooked.folder / "python")
        os.symlink(os.path.realpath(sys.executable), python)
        hooked.environment["PATH"] = "/usr/bin:/bin"
        assert shutil.which("py-spy", path="/usr/bin:/bin") is None
        hooked.environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if "site-pack" in p)
    done = hooked.run(
        "--python", python, "--nproc", "2", "--max-restarts", "1", "--hang-timeout", LIMIT,
        "--job", "j", hooked.script(TEXT),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    line = next(x for x in done.stderr.decode().splitlines() if "hangs" in x)
    assert line.startswith("headway: rank 1 hangs (hang: no progress for ")
    assert "train.py:8 (stuck)" in line
    folder = hooked.jobs / "j" / "1"
    assert "stuck" in (folder / "stacks-1.txt").read_text()
    assert "meet" in (folder / "stacks-0.txt").read_text()
    verdict = json.loads((folder / "failure.json").read_text())["verdict"]
    assert (verdict["category"], verdict["rank"]) == ("hang", 1)
    assert not list((hooked.jobs / "j" / "2").glob("stacks-*"))


def test_a_slow_job_is_no_hang(hooked):
    """Before its first step a job has time, and off is off."""
    longer = f"time.sleep({int(LIMIT) + 0.5})"
    slow = TEXT.replace("rank, life", longer + "\nrank, life", 1)
    slow = slow.replace("time.sleep(1000)", longer)
    script = hooked.script(slow.replace('== "0"', "!= ''"))
    done = hooked.run("--python", sys.executable, "--nproc", "2", "--hang-timeout", "off", script)
    assert done.returncode == 0 and b"hang" not in done.stderr
    quick = hooked.script(slow.replace("        stuck()", "        pass"))
    done = hooked.run("--python", sys.executable, "--nproc", "2", "--hang-timeout", LIMIT, quick)
    assert done.returncode == 0 and b"hang" not in done.stderr
