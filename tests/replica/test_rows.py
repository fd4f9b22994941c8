"""Embedding tables: only rows that changed are staged, and what comes back is the whole table."""

from __future__ import annotations

import json
import re
import shutil
import signal
from typing import Any

import pytest
from replica_machine import SCRIPTS, Machine, end_of, wait_until

# Nobody is asked: what is refused is refused before.
NO_STORE = {
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
}


def deltas(machine: Machine) -> dict[str, str]:
    """Checkpoint → the one that it is based on, of those that have one."""
    found = {}
    for path in sorted(machine.checkpoints.glob("step-*/MANIFEST.json")):
        manifest: dict[str, Any] = json.loads(path.read_text())
        if "base" in manifest:
            found[path.parent.name] = manifest["base"]
    return found


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """How a run ends that nobody disturbs, and that copies everything at each save."""
    found = {}
    for optimizer in ("sgd", "adagrad", "sparse_adam"):
        machine = Machine(tmp_path_factory.mktemp(optimizer))
        found[optimizer] = end_of(
            machine.run("train_tables.py", OPTIMIZER=optimizer, STAGING="full")
        )
        assert not deltas(machine)
        machine.close()
    return found


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "sparse_adam"])
def test_a_killed_trainer_goes_on_from_memory(
    machine: Machine, ends: dict[str, str], optimizer: str
) -> None:
    output = machine.run("train_tables.py", code=-signal.SIGKILL, KILL=7, OPTIMIZER=optimizer)
    assert "rank 0 step 7 rows" in output, "auto sees that tables are most of it"
    output = machine.run("train_tables.py", OPTIMIZER=optimizer)
    assert "goes on after 7 from replica" in output
    assert end_of(output) == ends[optimizer]


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "sparse_adam"])
def test_it_goes_on_from_a_chain_of_deltas(
    machine: Machine, ends: dict[str, str], optimizer: str
) -> None:
    machine.run("train_tables.py", code=-signal.SIGKILL, KILL=7, OPTIMIZER=optimizer)
    machine.end_holders()
    chain = deltas(machine)
    assert len(chain) >= 4, chain
    verified = machine.headway("ckpt", "verify", machine.checkpoints, "--json")
    assert verified
    output = machine.run("train_tables.py", OPTIMIZER=optimizer)
    assert "goes on after 7 from disk" in output
    assert end_of(output) == ends[optimizer]


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
def test_rows_of_dense_gradients_are_found(machine: Machine, optimizer: str) -> None:
    """As nn.Embedding makes them by default; such tables are named by the script."""
    settings = {"OPTIMIZER": optimizer, "DENSE": 1}
    plain = end_of(machine.run("train_tables.py", STAGING="full", **settings))
    machine.end_holders(signal.SIGKILL)
    shutil.rmtree(machine.checkpoints)
    shutil.rmtree(machine.memory)
    output = machine.run("train_tables.py", code=-signal.SIGKILL, KILL=7, **settings)
    assert "rank 0 step 7 rows" in output and "is saved whole" not in output, output
    machine.end_holders()
    chain = deltas(machine)
    assert len(chain) >= 4, chain
    newest = machine.checkpoints / max(chain)
    sizes = [path.stat().st_size for path in newest.glob("*.delta")]
    assert max(sizes) < 400_000, f"a few rows of two megabytes: {sizes}"
    output = machine.run("train_tables.py", **settings)
    assert "goes on after 7 from disk" in output
    assert end_of(output) == plain


def test_rows_that_were_only_staged_get_to_the_disk_with_the_next(
    machine: Machine, ends: dict[str, str]
) -> None:
    machine.run("train_tables.py", code=-signal.SIGKILL, KILL=9, STAGE_ONLY=3)
    # The holder writes what the trainer had saved before it died.
    wait_until(lambda: len(deltas(machine)) == 2, "step 9 is written")
    chain = deltas(machine)
    assert [name.split("-")[1].lstrip("0") for name in chain] == ["6", "9"], chain
    machine.end_holders(signal.SIGKILL)
    shutil.rmtree(machine.memory)
    output = machine.run("train_tables.py", STAGE_ONLY=3)
    assert "goes on after 9 from disk" in output
    assert end_of(output) == ends["sgd"]


def test_a_change_past_the_optimizer_is_seen(machine: Machine) -> None:
    whole = end_of(machine.run("train_tables.py", BY_HAND=6, STAGING="full"))
    shutil.rmtree(machine.checkpoints)
    machine.end_holders(signal.SIGKILL)
    shutil.rmtree(machine.memory)
    machine.run("train_tables.py", code=-signal.SIGKILL, BY_HAND=6, KILL=8)
    output = machine.run("train_tables.py", BY_HAND=6)
    assert "goes on after 8 from replica" in output
    assert end_of(output) == whole


@pytest.mark.parametrize(
    ("optimizer", "why"),
    [("momentum", "SGD with momentum changes every row"), ("adam", "no table to save by rows")],
)
def test_what_changes_every_row_is_refused_by_name(
    machine: Machine, optimizer: str, why: str
) -> None:
    output = machine.run("train_tables.py", code=1, OPTIMIZER=optimizer, STAGING="rows")
    assert why in output, output
    if optimizer == "adam":
        output = machine.run("train_tables.py", OPTIMIZER=optimizer, STEPS=3)
        assert "rank 0 step 3 full" in output, "auto copies everything instead"


def test_a_dead_holder_loses_no_rows(machine: Machine, ends: dict[str, str]) -> None:
    machine.run("train_tables.py", code=-signal.SIGKILL, KILL=7)
    machine.end_holders(signal.SIGKILL)
    output = machine.run("train_tables.py")
    assert "goes on after 7 from replica" in output
    assert end_of(output) == ends["sgd"]


def test_a_chain_is_bounded_and_its_base_is_not_removed(machine: Machine) -> None:
    """A checkpoint that others are read with stays, however old."""
    machine.run("train_tables.py", STEPS=40, KEEP=2)
    machine.end_holders()
    names = sorted(path.name for path in machine.checkpoints.glob("step-*"))
    chain = deltas(machine)
    for base in chain.values():
        assert base in names
    longest = 0
    for name in chain:
        length, at = 0, name
        while at in chain:
            length, at = length + 1, chain[at]
        longest = max(longest, length)
    assert 1 <= longest <= 16
    assert len(names) < 40, "old ones went"
    machine.headway("ckpt", "verify", machine.checkpoints)


def test_a_damaged_delta_is_passed_over(machine: Machine, ends: dict[str, str]) -> None:
    machine.run("train_tables.py", code=-signal.SIGKILL, KILL=7)
    machine.end_holders(signal.SIGKILL)
    shutil.rmtree(machine.memory)
    newest = max(deltas(machine))
    file = machine.checkpoints / newest / "rank-00000.delta"
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    output = machine.run("train_tables.py")
    assert "is passed over" in output and "rank-00000.delta" in output, output
    step = int(newest.split("-")[1])
    assert f"goes on after {step - 1} from disk" in output
    assert end_of(output) == ends["sgd"]


def test_people_see_what_a_delta_is(machine: Machine) -> None:
    machine.run("train_tables.py", STEPS=3)
    machine.end_holders()
    newest = max(deltas(machine))
    path = machine.checkpoints / newest
    listed = machine.headway("ckpt", "ls", machine.checkpoints)
    assert f"{newest}" in listed and "good · newest · a delta" in listed, listed
    table = machine.headway("ckpt", "show", path, "model.user.weight")
    assert "/rank-00000.safetensors" in table
    assert re.search(r"rows put over them\n +40 +rank 0 +step-.*/rank-00000.delta\n", table), table
    assert re.search(r" +40 +rank 0 +rank-00000.delta\n", table), "its own, last"
    # With its bases, which keep their order and get new names.
    copy = machine.tmp / "copy"
    for _ in range(2):
        copied = machine.headway("ckpt", "copy", path, copy)
        assert len(list(copy.glob("step-*"))) == len(machine.steps())
    assert "was there already" in copied
    machine.headway("ckpt", "verify", copy)
    machine.headway("ckpt", "diff", path, copy)
    refused = machine.headway("ckpt", "copy", path, "s3://bucket/run", code=2, **NO_STORE)
    assert "only what changed since" in refused and "--ranks 1" in refused
    whole = machine.tmp / "whole"
    machine.headway("ckpt", "restore-to", path, whole, "--ranks", 1)
    machine.headway("ckpt", "diff", path, whole)


def test_ranks_go_the_same_way(machine: Machine) -> None:
    def train(job: str, **variables: object) -> str:
        script = SCRIPTS / "train_tables.py"
        words = ["run", "--nproc", 2, "--job", job, "--max-restarts", 2, script]
        return machine.headway(*words, **variables)

    plain = train("a")
    machine.end_holders()
    shutil.rmtree(machine.checkpoints)
    killed = train("b", KILL=7)
    assert "goes on after 7 from replica" in killed
    assert end_of(killed) == end_of(plain)


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("momentum", r"1\.weight cannot be saved by rows: SGD with momentum changes every row"),
        ("order", r"1\.weight is not in order in memory; by rows only plain tensors in"),
        ("small", None),
        ("none", None),
    ],
)
def test_tables_that_are_saved_whole_are_told(machine: Machine, why: str, said: str | None) -> None:
    """Once, and in the report; not where it would make no difference."""
    output = machine.headway("run", "--job", "j", SCRIPTS / "whole_tables.py", WHY=why)
    assert "saved by full" in output, output
    told = re.findall(r"RuntimeWarning: headway: tables are saved whole each time: (.*)", output)
    shown = json.loads(machine.headway("report", "j", "--json"))["attrs"]["checkpoints"]
    assert len(told) == (said is not None), output
    if said is None:
        assert "tables" not in shown
    else:
        assert re.match(said, told[0]) and re.search("; tables whole: " + said, shown), shown


def test_saves_may_go_another_way_in_the_middle_of_a_run(
    machine: Machine, ends: dict[str, str]
) -> None:
    ways = "2:full 4:stream 6:rows 9:stream 10:full"
    output = machine.run("train_tables.py", code=-signal.SIGKILL, SWITCH=ways, KILL=8)
    assert [line.split()[-1] for line in output.splitlines()[1:]] == [
        *("rows", "rows", "full", "full", "stream", "stream", "rows", "rows")
    ]
    output = machine.run("train_tables.py", SWITCH=ways, STAGING="full")
    assert "goes on after 8 from replica" in output
    assert end_of(output) == ends["sgd"]
    machine.end_holders()
    machine.headway("ckpt", "verify", machine.checkpoints)


def test_a_stream_keeps_nothing_in_memory(machine: Machine, ends: dict[str, str]) -> None:
    machine.run("train_tables.py", code=-signal.SIGKILL, STAGING="stream", KILL=7, KEEP=2)
    assert not list(machine.memory.rglob("*.slot-*"))
    assert machine.steps()[-2:] == [6, 7], "each is durable when save() returns"
    output = machine.run("train_tables.py", STAGING="stream")
    assert "goes on after 7 from disk" in output
    assert end_of(output) == ends["sgd"]
    assert not deltas(machine)


@pytest.mark.parametrize("modes", ["rows", "full,rows,rows", "rows,full,rows"])
def test_layouts_that_are_outgrown_again_and_again(machine: Machine, modes: str) -> None:
    """Every save that is to wait for the disk gets there: nobody waits for memory that is taken."""
    output = machine.run("grown_rows.py", MODES=modes)
    (end,) = re.findall(r"ended at 150 with (\S+), 0 failed", output)
    assert "Warning" not in output, output
    assert f"goes on after 150 with {end}\n" in machine.run("grown_rows.py", MODES=modes)
