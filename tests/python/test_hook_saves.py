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


def test_a_copy_keeps_its_position(launch: Launcher) -> None:
    """As a checkpoint does that went to an object store and back."""
    launch.train(TRAIN, "path", "6")
    saved = launch.folder / "last.pt"
    content = saved.read_bytes()
    saved.unlink()
    saved.write_bytes(content)
    journal = launch.train(TRAIN, "path", "9").journal
    assert [(r.a, r.b) for r in journal.of("restore")] == [(4, 8)]
    assert journal.step_ends() == [(n, 2 * n) for n in range(5, 10)]
    assert "loaded_without_position" not in journal.attrs()
    saved.write_bytes(content + b"changed")
    assert launch.train(TRAIN, "path", "9").journal.attrs()["loaded_without_position"] == "last.pt"


WITH_STATE_DICT = """
    import sys
    import torch, torch.nn as nn
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.utils.data import DataLoader, TensorDataset
    resume, stop, kind = sys.argv[1] == "resume", int(sys.argv[2]), sys.argv[3]
    loader = DataLoader(TensorDataset(torch.randn(64, 3)), batch_size=2)
    model = nn.Linear(3, 1)
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.01)
    start = 0
    if resume:
        weights, state = get_state_dict(model, optimizer)
        stored = {"model": weights, "optimizer": state, "step": 0}
        dcp.load(stored, checkpoint_id="ck")
        set_state_dict(
            model, optimizer, model_state_dict=stored["model"], optim_state_dict=stored["optimizer"]
        )
        start = stored["step"]
    for step, (x,) in enumerate(loader, 1):
        if step <= start:
            continue
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 4 == 0:
            weights, state = get_state_dict(model, optimizer)
            dcp.save({"model": weights, "optimizer": state, "step": step}, checkpoint_id="ck")
        if step == stop:
            break
"""


@pytest.mark.parametrize("kind", ["Adam", "SGD"])
def test_the_step_that_makes_an_optimizers_state_is_none(launch: Launcher, kind: str) -> None:
    """get_state_dict() steps with zero gradients: before the first step, and at every save of an
    optimizer without state."""
    first = launch.train(WITH_STATE_DICT, "start", "6", kind).journal
    assert first.step_ends() == [(n, 2 * n) for n in range(1, 7)]
    second = launch.train(WITH_STATE_DICT, "resume", "9", kind).journal
    assert [(r.a, r.b) for r in second.of("restore")] == [(4, 8)]
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
