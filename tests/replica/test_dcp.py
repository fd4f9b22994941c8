"""dcp.save, dcp.async_save and dcp.load with one changed argument."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine, Running

SCRIPT = SCRIPTS / "dcp_round.py"
SHARDED = SCRIPTS / "dcp_sharded.py"
LOCKED = SCRIPTS / "dcp_locked.py"


def ranks(machine: Machine, count: int, mode: str, code: int = 0) -> str:
    return machine.headway("run", "--nproc", count, SCRIPT, MODE=mode, code=code)


@pytest.mark.parametrize("mode", ["save", "async", "process"])
def test_saved_by_some_loaded_by_others(machine: Machine, mode: str) -> None:
    ranks(machine, 2, mode)
    assert machine.steps() == [3]
    machine.headway("ckpt", "verify", machine.checkpoints)
    for count in (1, 2, 3):
        ranks(machine, count, "load")


def test_torch_reads_what_ranks_wrote_their_parts_of(machine: Machine) -> None:
    torch = pytest.importorskip("torch")
    from torch.distributed.checkpoint import HuggingFaceStorageReader, load

    ranks(machine, 2, "save")
    (saved,) = machine.checkpoints.glob("step-*")
    assert len([*saved.glob("rank-*.safetensors")]) == 2
    wanted = {
        "rows": torch.arange(21, dtype=torch.float32).view(7, 3),
        "columns": torch.arange(20, dtype=torch.float32).view(4, 5),
        "same": torch.arange(4, dtype=torch.float32).view(2, 2),
        "plain": torch.full((3,), 5, dtype=torch.bfloat16),
        "nested.table": torch.ones(4),
    }
    state = {name: torch.zeros_like(tensor) for name, tensor in wanted.items()}
    load(state, storage_reader=HuggingFaceStorageReader(str(saved)), no_dist=True)
    for name, tensor in wanted.items():
        assert torch.equal(state[name], tensor), name


def test_ranks_that_do_not_talk_are_refused(machine: Machine) -> None:
    """Each would commit its own part as a whole checkpoint."""
    output = ranks(machine, 2, "apart")
    assert output.count("refused: hw.dcp.Writer: dcp.save(use_collectives=False) with 2 ranks") == 2
    assert machine.steps() == []
    assert "refused" not in ranks(machine, 1, "apart")
    assert machine.steps() == [3]


def sharded(machine: Machine, count: int, mode: str, code: int = 0) -> str:
    """With tensors of torch.distributed._shard: a rank may have several pieces of one."""
    return machine.headway("run", "--nproc", count, SHARDED, MODE=mode, code=code)


def test_sharded_tensors(machine: Machine) -> None:
    sharded(machine, 2, "save")
    machine.headway("ckpt", "verify", machine.checkpoints)
    for count in (1, 2, 3):
        sharded(machine, count, "load")
    output = sharded(machine, 2, "keep", code=1)
    assert "rows: a ShardedTensor cannot be saved by the checkpointer" in output
    assert machine.steps() == [3]


@pytest.mark.parametrize("mode", ["async", "process"])
def test_sharded_tensors_that_are_changed_right_after_the_call(machine: Machine, mode: str) -> None:
    """torch's own stagers do not know them: the writer copies them itself."""
    sharded(machine, 2, mode)
    machine.headway("ckpt", "verify", machine.checkpoints)
    sharded(machine, 1, "load")


def locked(machine: Machine, count: int, job: str, code: int = 0) -> str:
    words = ("run", "--nproc", count, "--job", job, LOCKED)
    return machine.headway(*words, HOW="plain", code=code)


def test_nobody_else_saves_or_removes_while_it_saves(machine: Machine) -> None:
    folder = machine.checkpoints
    locked(machine, 1, "before")
    saving = Running(machine, "--nproc", 2, "--job", "first", LOCKED, HOW="slow")
    saving.wait_for("rank 1 writes")
    by = rf"{folder}: in use by hw.dcp.Writer of the job first, pid \d+ on .*; wait until that"
    output = locked(machine, 2, "second")
    for rank in (0, 1):
        assert re.search(rf"rank {rank} refused: {by}", output), output
    assert re.search(by, machine.headway("ckpt", "prune", folder, "--last", 1, code=None))
    assert re.search(by, machine.headway("run", SCRIPTS / "train.py", code=1, SURE=1))
    Path(f"{folder}.go").touch()
    assert saving.process.wait(timeout=60) == 0, saving.log.read_text()
    assert saving.log.read_text().count("saved") == 2
    assert locked(machine, 2, "second").count("saved") == 2
    assert len(os.listdir(folder)) == 3 + len(["LATEST", ".lock"])


def test_beside_a_checkpointer_it_is_refused(machine: Machine) -> None:
    train = Running(machine, "--job", "trains", SCRIPTS / "train.py", SURE=1, PAUSE=3)
    train.wait_for("rank 0 pauses after 3")
    by = rf"rank 0 refused: {machine.checkpoints}: in use by the job trains, pid \d+"
    assert re.search(by, locked(machine, 1, "other"))
    assert not [
        path for path in machine.checkpoints.glob("step-*/*.json") if "other" in path.read_text()
    ]
    Path(f"{machine.checkpoints}.go").touch()
    assert train.process.wait(timeout=60) == 0, train.log.read_text()


def test_a_save_that_failed_does_not_lock_the_next_one_out(machine: Machine) -> None:
    output = machine.headway("run", "--nproc", 2, "--job", "j", LOCKED, HOW="twice")
    assert output.count("refused: broken on purpose") == 2, output
    assert output.count("saved") == 2, output
    assert machine.steps() == [2]


def test_a_flipped_bit_is_never_loaded(machine: Machine) -> None:
    ranks(machine, 2, "save")
    shard = next(machine.checkpoints.glob("step-*/rank-00001.safetensors"))
    content = bytearray(shard.read_bytes())
    content[-5] ^= 0x40
    shard.write_bytes(content)
    output = ranks(machine, 2, "load", code=1)
    assert re.search(r"rank-00001.safetensors: chunk 0, .* is damaged", output)


def test_where_nothing_is(machine: Machine) -> None:
    """dcp.load() would wrap it, and a plain mistake look like damage."""
    folder = machine.checkpoints
    none = "not found, CheckpointNotFoundError"
    said = machine.run("dcp_nothing.py").splitlines()
    deep = f"{folder}/deep"
    assert f"{none}: {deep}/nowhere: no checkpoint: there is no such folder, nor {deep}" in said
    assert f"{none}: {folder}: no checkpoint: it is empty" in said
    assert f"{none}: {folder}: no checkpoint: in it are a.pt, b.pt, c.pt, d.pt, e.pt, …" in said
    damaged = next(line for line in said if line.startswith("damaged: "))
    assert re.search(r"no good checkpoint is in it: .*/step-00000002-.* \(and 1 more\)$", damaged)


@pytest.mark.parametrize(("rows", "who"), [(1, "damaged: "), (8, "damaged, says rank 0: ")])
def test_what_to_load_instead_of_a_damaged_one(machine: Machine, rows: int, who: str) -> None:
    """dcp.load() wraps the error in a hundred lines: it says itself what to do next. Where opening
    it shows the damage, Reader() raises it as it is."""
    folder = machine.checkpoints
    said = machine.run("dcp_damaged.py", ROWS=rows)
    said = re.findall(r"^(?:damaged|loaded).*", said, re.MULTILINE)
    older = f"{folder}/step-00000001-000001"
    verify = f"`headway ckpt verify {folder}` reads them all"
    for line in said[:2]:
        assert re.match(who + r"/.*/step-00000002-.* is damaged; ", line), line
        assert line.endswith(f"; the next older checkpoint is hw.dcp.Reader('{older}'); {verify}")
    assert said[2] == f"loaded {older} [1.0]"
    assert said[3].startswith(who)
    assert said[3].endswith(f"is damaged; no older checkpoint is beside it; {verify}")


def test_the_proof_is_what_torch_has_wrapped(machine: Machine) -> None:
    script = SCRIPTS / "dcp_damaged.py"
    output = machine.headway("run", "--job", "j", script, ROWS=8, UNCAUGHT=1, code=1)
    assert "CheckpointException ranks:" in output
    failure = json.loads(machine.headway("why", "j", "--json"))
    older = f"hw.dcp.Reader('{machine.checkpoints}/step-00000001-000001')"
    assert failure["category"] == "checkpoint_corrupt"
    assert re.search(r"step-00000002-000002/rank-00000.safetensors: chunk \d", failure["proof"])
    assert f"is damaged; the next older checkpoint is {older}" in failure["proof"]


def test_the_attempt_is_told(machine: Machine) -> None:
    ranks(machine, 1, "save")
    assert '"attempt":1,' in next(machine.checkpoints.glob("step-*/MANIFEST.json")).read_text()
