"""hw.checkpointer without an agent: what is saved comes back, from memory or from disk."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from replica_machine import SCRIPTS, Machine, end_of


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    machine = Machine(tmp_path_factory.mktemp("undisturbed"))
    end = end_of(machine.run("train.py"))
    machine.close()
    return end


def test_a_killed_trainer_goes_on_from_memory(machine: Machine, undisturbed: str) -> None:
    machine.run("train.py", code=-signal.SIGKILL, KILL=7, EVERY=1, SURE=1)
    output = machine.run("train.py", EVERY=1)
    assert "goes on after 7 from replica" in output  # a copy where all slots wait for the disk
    assert end_of(output) == undisturbed


def test_killed_again_and_again_it_goes_on_from_the_same_step(machine: Machine) -> None:
    """Before the next save: what it went on from is still there, whatever is older."""
    words = {"EVERY": 1000, "STAGE": 4, "SLOW": 0.1, "WIDTH": 600, "STAGING": "full"}
    machine.run("train.py", STEPS=2, **words)
    assert machine.steps() == [2]
    tiers = []
    for kill in (9, 9, 10, 9, 11):
        Path(f"{machine.checkpoints}.killed").unlink(missing_ok=True)
        output = machine.run("train.py", code=-signal.SIGKILL, KILL=kill, **words)
        tiers += re.findall(r"goes on after (\d+) from (.*)", output)
        slots = list(machine.memory.rglob("*.slot-*"))
        assert len(slots) <= 4, "one more after a recovery, and no more after the next"
    assert [step for step, _ in tiers] == ["2", "8", "8", "8", "8"], tiers
    # The first one to go on from it has it written, and what is on disk needs no other copy.
    assert tiers[1][1] == "replica" and {tier for _, tier in tiers[2:]} <= {"replica", "disk"}
    machine.end_holders()
    assert machine.steps() == [2, 8]


def test_it_goes_on_from_disk_where_memory_is_gone(machine: Machine, undisturbed: str) -> None:
    machine.run("train.py", code=-signal.SIGKILL, KILL=7, EVERY=2, SURE=1)
    machine.end_holders()
    assert machine.steps()[-1] == 7, "what was staged is written when the holder ends"
    output = machine.run("train.py")
    assert "goes on after 7 from disk\n" in output
    assert end_of(output) == undisturbed


def test_an_old_one_that_is_copied_in_is_gone_on_from(machine: Machine, undisturbed: str) -> None:
    """The newest is the one that came last, to every verb and to restore()."""
    machine.run("train.py", code=-signal.SIGKILL, KILL=7, SURE=1)
    machine.end_holders()
    old = min(machine.checkpoints.glob("step-*"))
    machine.headway("ckpt", "copy", old, machine.tmp / "archive")
    old_step = int(old.name.split("-")[1])
    for path in machine.checkpoints.glob(f"step-{old_step:08}-*"):
        shutil.rmtree(path)
    machine.headway("ckpt", "copy", machine.tmp / "archive", machine.checkpoints)
    newest = (machine.checkpoints / "LATEST").read_text().strip()
    assert newest.startswith(f"step-{old_step:08}-")
    assert re.search(rf"{newest} .* newest", machine.headway("ckpt", "ls", machine.checkpoints))
    output = machine.run("train.py")
    assert f"goes on after {old_step} from disk\n" in output
    assert end_of(output) == undisturbed
    machine.end_holders()
    listed = machine.headway("ckpt", "ls", machine.checkpoints)
    assert listed.index("newest") == listed.index("good") + len("good · "), listed


def test_a_damaged_checkpoint_is_passed_over(machine: Machine, undisturbed: str) -> None:
    machine.run("train.py", code=-signal.SIGKILL, KILL=7, SURE=1)
    machine.end_holders()
    newest = max(machine.checkpoints.glob("step-*"))
    shard = newest / "rank-00000.safetensors"
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    output = machine.run("train.py")
    assert re.search(
        r"step 7 \(disk\) is passed over: .*rank-00000.safetensors: chunk 0, .* is damaged", output
    )
    assert "goes on after 6 from disk\n" in output
    assert end_of(output) == undisturbed


def test_a_damaged_manifest_is_passed_over_aloud(machine: Machine, undisturbed: str) -> None:
    """And where none is good, nothing begins anew: what is there may be mended by somebody."""
    machine.run("train.py", code=-signal.SIGKILL, KILL=7, SURE=1)
    machine.end_holders()
    paths = sorted(machine.checkpoints.glob("step-*/MANIFEST.json"))
    assert len(paths) == 3
    originals = [path.read_bytes() for path in paths]

    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[40] ^= 1
        path.write_bytes(content)

    for path in paths:
        damage(path)
    output = machine.run("train.py", code=1)
    (said,) = re.findall("none of 3 saved states can be gone on from: damaged: .*", output)
    for path in paths:
        assert said.count(f"{path}: not a good manifest") == 1
    assert "passed over" not in output, "the error says it all"
    for path, original in zip(paths, originals, strict=True):
        path.write_bytes(original)
    damage(paths[-1])
    output = machine.run("train.py")
    assert re.search(rf"a checkpoint is passed over: {paths[-1]}: not a good manifest", output)
    assert "goes on after 6 from disk\n" in output
    assert end_of(output) == undisturbed


def test_a_damaged_replica_is_not_believed(machine: Machine, undisturbed: str) -> None:
    """A program that writes where it should not may have written into the shared memory."""
    machine.run("train.py", code=-signal.SIGSEGV, KILL=7, SIGNAL="SIGSEGV", SURE=1)
    slots = list(machine.memory.rglob("*.slot-*"))
    assert slots
    for slot in slots:
        with open(slot, "r+b") as file:
            file.seek(30_000)
            byte = file.read(1)
            file.seek(30_000)
            file.write(bytes([byte[0] ^ 4]))
    output = machine.run("train.py")
    assert "(replica) is passed over" in output
    assert "from disk\n" in output
    assert end_of(output) == undisturbed


def test_the_holder_may_die_at_any_time(machine: Machine, undisturbed: str) -> None:
    machine.run("train.py", code=-signal.SIGKILL, KILL=7, SURE=1)
    machine.end_holders(signal.SIGKILL)
    output = machine.run("train.py")
    assert "goes on after 7 from replica" in output, "the next one takes the slots over"
    assert end_of(output) == undisturbed


def test_memory_is_given_back_though_the_holder_was_killed_at_the_end(machine: Machine) -> None:
    script = SCRIPTS / "kill_holder_and_end.py"
    machine.headway("run", "--nproc", 1, "--job", "j", script)
    assert not [path for path in machine.memory.rglob("*") if not path.is_dir()]
    assert set(machine.steps()) == {1}, "once more if another holder had just been asked for"


def test_a_slow_disk_keeps_no_step_out_of_memory(machine: Machine) -> None:
    output = machine.run("slow_disk.py")
    assert "missing []," in output and "on disk 39" in output, output
    assert "skipped 0" not in output, "what could not get to the disk is counted"


@pytest.mark.parametrize("staging", ["full", "rows", "stream"])
@pytest.mark.parametrize("tier", ["memory", "disk"])
def test_it_saves_while_it_trains_on(machine: Machine, staging: str, tier: str) -> None:
    """Nothing that happens after save() has returned is seen in the checkpoint."""
    machine.run("change_after_save.py", STAGING=staging)
    if tier == "disk":
        machine.end_holders()
    machine.run("change_after_save.py", STAGING=staging, CHECK=1)


def test_other_threads_run_while_a_state_is_copied(machine: Machine) -> None:
    """A save holds the interpreter's lock for its own few lines of Python and not for the copy."""
    assert "ran meanwhile" in machine.run("spins_while_saving.py")


def test_others_can_read_it(machine: Machine) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors")
    machine.run("train.py", STEPS=4)
    machine.end_holders()
    newest = max(machine.checkpoints.glob("step-*"))
    with safetensors.safe_open(newest / "rank-00000.safetensors", "pt") as file:
        whole = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert whole["model.0.weight"].shape == (64, 64)
    assert whole["optimizer.state.0.weight.exp_avg"].abs().sum() > 0
    from torch.distributed.checkpoint import HuggingFaceStorageReader, load

    state: dict[str, Any] = {name: torch.zeros_like(tensor) for name, tensor in whole.items()}
    load(state, storage_reader=HuggingFaceStorageReader(str(newest)), no_dist=True)
    for name, tensor in whole.items():
        assert torch.equal(state[name], tensor), name
    assert b"pickle" not in b"".join(path.read_bytes() for path in newest.iterdir())
    assert "good" in machine.headway("ckpt", "ls", machine.checkpoints)
    machine.headway("ckpt", "verify", newest)


def test_what_cannot_be_saved_is_named(machine: Machine) -> None:
    output = machine.run("unsavable.py", code=1)
    assert (
        "CheckpointUsageError: values.deep.1.thing: a __main__.Thing cannot be saved; saved are "
        "None, numbers, texts, bytes, lists, tuples, sets, dictionaries, tensors and numpy's "
        "arrays: keep what is in it as such, or give it state_dict() and load_state_dict()"
        in output
    )
    assert not machine.steps()


def test_another_model_is_refused(machine: Machine) -> None:
    machine.run("train.py", STEPS=4)
    machine.end_holders()
    output = machine.run("train.py", code=1, STEPS=4, WIDTH=32, EVERY=100)
    assert re.search(r"model.0.weight: F32 \[32, 32\] is wanted, saved was F32 \[64, 64\]", output)
    assert "saved states can be gone on from: does not fit: step 4 (disk)" in output


def test_a_save_that_found_no_room_is_made_up_for(machine: Machine) -> None:
    """Most steps are not saved, but the state at the end is."""
    output = machine.run("fast_steps.py", STEPS=201)
    assert "skipped 0" not in output, output
    assert machine.steps()[-1] == 201, output


def test_a_step_that_is_saved_twice_is_written_once(machine: Machine) -> None:
    machine.run("same_step.py")
    machine.end_holders()
    assert machine.steps() == [2, 4, 6, 8, 9]
