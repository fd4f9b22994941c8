"""Checkpoints of unmodified scripts, and numbering steps on after a restart."""

from __future__ import annotations

import pytest
from launching import Launcher

TRAIN = """
    import io, os, pathlib, sys
    import torch, torch.nn as nn
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    how, stop = sys.argv[1], int(sys.argv[2])
    path = pathlib.Path("last.pt")
    loader = DataLoader(TensorDataset(torch.randn(64, 3)), batch_size=2)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    start = 0
    torch.save(model.state_dict(), io.BytesIO())
    if path.exists():
        state = torch.load(path)
        model.load_state_dict(state["model"])
        start = state["step"]
    def save(step):
        state = {"model": model.state_dict(), "step": step}
        if how == "rename":
            torch.save(state, "last.tmp")
            os.replace("last.tmp", path)
        elif how == "file":
            with open(path, "wb") as file:
                torch.save(state, f=file)
        else:
            torch.save(state, str(path))
    for step, (x,) in enumerate(loader, 1):
        if step <= start:
            continue  # skip what was consumed before
        model(x).square().mean().backward()
        optimizer.step()
        if step % 4 == 0:
            save(step)
        if step == stop:
            break
    print(sorted(os.listdir(".")))
"""


@pytest.mark.parametrize("how", ["path", "rename", "file"])
def test_a_restart_continues_the_numbers(launch: Launcher, how: str) -> None:
    first = launch.train(TRAIN, how, "6")
    assert "positions" not in first.out
    journal = first.journal
    journal.check_nesting()
    assert [(r.name, r.a, r.b) for r in journal.of("checkpoint")] == [("durable", 4, 8)]
    assert len(journal.spans("checkpoint_blocked")) == 1
    assert journal.of("restore") == []
    second = launch.train(TRAIN, how, "9").journal
    second.check_nesting()
    assert [(r.name, r.a, r.b) for r in second.of("restore")] == [("disk", 4, 8)]
    assert len(second.spans("restore")) == 1
    assert second.step_ends() == [(n, 2 * n) for n in range(5, 10)]


def test_a_restart_from_scratch_starts_at_one(launch: Launcher) -> None:
    launch.train(TRAIN, "path", "6")
    (launch.folder / "last.pt").unlink()
    journal = launch.train(TRAIN, "path", "5").journal
    assert journal.of("restore") == []
    assert journal.step_ends() == [(n, 2 * n) for n in range(1, 6)]


def test_other_peoples_files_have_no_position(launch: Launcher) -> None:
    launch.train(TRAIN, "path", "6", hook=False)  # saved without Headway
    journal = launch.train(TRAIN, "path", "6").journal
    assert journal.of("restore") == [] and journal.spans("restore") == []
    assert journal.step_ends() == [(1, 10), (2, 12)], "what it skipped counts"
    launch.train(TRAIN, "path", "8")
    journal = launch.train(TRAIN, "path", "9").journal
    assert len(journal.of("restore")) == 1
    other = launch.run(launch.folder / "train.py", "path", "9", env={"HEADWAY_JOB": "finetune"})
    assert other.code == 0
    other.folder = launch.folder / "state" / "finetune"
    assert other.journal.of("restore") == [], "another job's checkpoint is a set of weights"


def test_a_failing_save_is_no_checkpoint(launch: Launcher) -> None:
    text = """
    import torch
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.step()
    try:
        torch.save(model, "/no/such/folder/x.pt")
    except RuntimeError as error:
        print(error)
    """
    journal = launch.train(text).journal
    journal.check_nesting()
    assert len(journal.spans("checkpoint_blocked")) == 1
    assert journal.of("checkpoint") == []


DCP = """
    import sys
    import torch, torch.nn as nn
    import torch.distributed.checkpoint as dcp
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    state = {"model": model.state_dict()}
    if sys.argv[1] == "resume":
        dcp.load(state, checkpoint_id="ckpt")
    loader = torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=2)
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
    if sys.argv[1] == "async":
        torch.distributed.init_process_group(
            "gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
        dcp.async_save(state, checkpoint_id="ckpt").result()
        torch.distributed.destroy_process_group()
    else:
        dcp.save(state, checkpoint_id="ckpt")
"""


@pytest.mark.parametrize("how", ["sync", "async"])
def test_dcp(launch: Launcher, how: str) -> None:
    journal = launch.train(DCP, how).journal
    journal.check_nesting()
    states = [(r.name, r.a, r.b) for r in journal.of("checkpoint")]
    assert states[-1] == ("durable", 4, 8)
    assert states[:-1] == ([("staged", 4, 8)] if how == "async" else [])
    assert len(journal.spans("checkpoint_blocked")) == 1
    journal = launch.train(DCP, "resume").journal
    journal.check_nesting()
    assert [(r.name, r.a, r.b) for r in journal.of("restore")] == [("disk", 4, 8)]
    assert journal.step_ends() == [(n, 2 * n) for n in range(5, 9)]
