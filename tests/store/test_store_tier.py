"""The object store as a tier: trained for real, uploaded to a real store, everything else lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine, wait_until
from store_stage import Server
from tier_machine import TRAIN, TierMachine, ends_of
from wires import Relay

MIB = 1 << 20
KILLS = 12 if os.environ.get("HEADWAY_TEST_FULL") else 4
WIDE = 1200  # of the model: a state of some 17 MB


@pytest.fixture
def machine(tmp_path: Path, server: Server) -> Iterator[TierMachine]:
    machine = TierMachine(tmp_path, server)
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    machine = Machine(tmp_path_factory.mktemp("undisturbed"))
    ends = ends_of(machine.headway("run", "--nproc", 2, TRAIN))
    machine.close()
    assert len(ends) == 2
    return ends


def test_all_is_lost_but_the_store(machine: TierMachine, undisturbed: list[str]) -> None:
    machine.train(STEPS=8)
    assert machine.stored()[0]["step"] == 8, "the last one goes up on the way down"
    shutil.rmtree(machine.checkpoints)
    output = machine.train()
    assert output.count("goes on after 8 from store") == 2, output
    assert ends_of(output) == undisturbed
    attempts = json.loads(machine.headway("report", "j", "--json"))["attempts"]
    assert [(a["restored_step"], a["restored_tier"]) for a in attempts] == [
        (None, ""),
        (8, "store"),
    ]
    stored = machine.stored()
    assert stored[0]["step"] == 12
    numbers = [one["sequence"] for one in stored]
    assert numbers == sorted(numbers, reverse=True) and len(set(numbers)) == len(numbers)
    machine.verify_stored()


def test_rows_go_up_as_whole_ones(machine: TierMachine) -> None:
    """A delta is of no use there: of five saves one is whole, and so is the last."""

    def train(**variables: object) -> str:
        job = ["run", "--nproc", 2, "--job", "j", SCRIPTS / "train_tables.py"]
        return machine.clean(machine.headway(*job, KEEP=0, **variables))

    assert "rank 0 step 9 rows" in train(STEPS=9)
    manifests = sorted(
        machine.checkpoints.glob("step-*/MANIFEST.json"),
        key=lambda path: path.parent.name.split("-")[2],  # in the order of their saves
    )
    read = [json.loads(path.read_text()) for path in manifests]
    on_disk = [(one["step"], "base" in one) for one in read]
    whole = [step for step, is_delta in on_disk if not is_delta]
    assert (9, True) in on_disk and whole[-1] == 9, on_disk
    between = [later - sooner for sooner, later in pairwise(whole)]
    assert max(between) <= 5, "four deltas behind each"
    assert machine.stored()[0]["step"] == 9
    shutil.rmtree(machine.checkpoints)
    output = train(STEPS=12)
    assert output.count("goes on after 9 from store") == 2, output
    (machine.tmp / "undisturbed").mkdir()
    undisturbed = Machine(machine.tmp / "undisturbed")
    try:
        job = ["run", "--nproc", 2, SCRIPTS / "train_tables.py"]
        assert ends_of(output) == ends_of(undisturbed.headway(*job, STEPS=12, STAGING="full"))
    finally:
        undisturbed.close()


def test_the_newest_of_all_tiers(machine: TierMachine, undisturbed: list[str]) -> None:
    machine.train(STEPS=4)
    old = machine.tmp / "old"
    shutil.copytree(machine.checkpoints, old)
    machine.train(STEPS=8)
    shutil.rmtree(machine.checkpoints)
    old.rename(machine.checkpoints)
    output = machine.train()
    assert output.count("goes on after 8 from store") == 2, output
    assert ends_of(output) == undisturbed
    output = machine.train(STEPS=14)
    assert output.count("goes on after 12 from disk") == 2, "of two equals the nearer one"


def test_a_store_that_is_away(machine: TierMachine, undisturbed: list[str]) -> None:
    """Nothing on disk: refused. Something on disk: one warning, and on it goes."""
    away = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1", "HEADWAY_CKPT_UPLOAD_WAIT": "0s"}
    refused = machine.train(code=None, **away)
    assert "nothing is saved here, and whether the object store has something cannot be told" in (
        refused
    )
    assert "list s3://" in refused and "after 3 tries (http://127.0.0.1:1)" in refused
    assert "set HEADWAY_CKPT_WITHOUT_STORE=1" in refused
    assert "rank 0 step 1\n" not in refused
    output = machine.train(STEPS=4, HEADWAY_CKPT_WITHOUT_STORE=1, **away)
    assert output.count("goes on after 0 from None") == 2, output
    assert "is on disk but not in the object store: the next run goes on with it" in output
    output = machine.train(STEPS=6, **away)
    assert output.count("goes on after 4 from disk") == 2, output
    assert (
        output.count("RuntimeWarning: headway: whether the object store has something newer") == 1
    )
    assert "Going on from step 4 (disk)" in output
    output = machine.train()
    assert ends_of(output) == undisturbed
    assert machine.stored()[0]["step"] == 12


def test_a_wrong_secret(machine: TierMachine, undisturbed: list[str]) -> None:
    wrong = "another+secret/of=the-tests"
    output = machine.train(
        AWS_SECRET_ACCESS_KEY=wrong, HEADWAY_CKPT_WITHOUT_STORE=1, HEADWAY_CKPT_UPLOAD_WAIT="0s",
        SLOW=0.2,
    )  # fmt: skip
    assert ends_of(output) == undisturbed
    told = [line for line in output.splitlines() if "not uploaded, it is tried again" in line]
    assert len(told) == 1 and "403 SignatureDoesNotMatch" in told[0], output
    assert wrong not in output
    refused = machine.train(
        code=None, AWS_SECRET_ACCESS_KEY=wrong, FOLDER=machine.tmp / "elsewhere"
    )
    assert "cannot be told: list" in refused and "403" in refused


def test_a_line_that_is_down_for_a_while(machine: TierMachine, undisturbed: list[str]) -> None:
    relay = Relay(machine.server.port)
    running = machine.background(AWS_ENDPOINT_URL_S3=relay.url, SLOW=0.2, PAUSE=11)
    running.wait_for("rank 0 step 4")
    wait_until(lambda: bool(machine.stored()), "the first one is there")
    relay.down = True
    running.wait_for("rank 0 pauses after 11")
    assert machine.stored()[0]["step"] < 10
    relay.down = False
    (machine.tmp / "checkpoints.go").touch()
    assert ends_of(running.end()) == undisturbed
    relay.close()
    assert machine.stored()[0]["step"] == 12
    machine.verify_stored()


def test_a_holder_that_is_killed_while_it_uploads(machine: TierMachine) -> None:
    seed = int(os.environ.get("HEADWAY_TEST_SEED", random.randrange(2**32)))
    print(f"HEADWAY_TEST_SEED={seed}")
    choice = random.Random(seed)
    relay = Relay(machine.server.port, bytes_per_s=6 * MIB)
    running = machine.background(AWS_ENDPOINT_URL_S3=relay.url, WIDTH=WIDE, PAUSE=6)
    running.wait_for("rank 0 pauses after 6")
    running.wait_for("rank 1 pauses after 6")
    for _ in range(KILLS):
        wait_until(lambda: bool(machine.holders()), "a holder")
        before = relay.up_bytes
        wanted = choice.randrange(64 << 10, 6 * MIB)
        done = len(machine.stored())
        wait_until(
            lambda before=before, wanted=wanted, done=done: (
                relay.up_bytes > before + wanted or len(machine.stored()) > done
            ),
            "it sends",
        )
        for pid in machine.holders():
            os.kill(pid, signal.SIGKILL)
        stored = machine.stored()  # whole ones only, whenever one looks
        assert all(one["step"] <= 6 for one in stored), stored
    (machine.tmp / "checkpoints.go").touch()
    running.end()
    relay.close()
    assert machine.stored()[0]["step"] == 12
    machine.verify_stored()


def test_what_is_uploaded_is_not_thinned_out(machine: TierMachine) -> None:
    """Three are kept on disk; the first is still on its way when the twelfth is there."""
    relay = Relay(machine.server.port, bytes_per_s=4 * MIB)
    running = machine.background(AWS_ENDPOINT_URL_S3=relay.url, WIDTH=WIDE, SLOW=0.15, PAUSE=11)
    running.wait_for("rank 0 pauses after 11")
    wait_until(lambda: bool(machine.stored()), "the first upload")
    first = machine.stored()[-1]["step"]
    (machine.tmp / "checkpoints.go").touch()
    output = running.end()
    relay.close()
    assert "not uploaded" not in output, output
    steps = [one["step"] for one in machine.stored()]
    assert steps[0] == 12 and steps[-1] == first, steps
    assert len(steps) < 12, "those that were overtaken are left out"
    assert first <= 12 - 3 and first not in machine.steps(), "it went when it was there"
    machine.verify_stored()


def test_a_script_of_its_own(machine: TierMachine) -> None:
    output = machine.alone("uploaded.py", STEPS=4, KEEP=2, HEADWAY_CKPT_UPLOAD="")
    assert "uploaded 4, skipped 0" in output, output
    end = output.split("end ")[1].split()[0]
    machine.end_holders()
    assert [one["step"] for one in machine.stored()] == [4, 3]
    shutil.rmtree(machine.checkpoints)
    output = machine.alone("uploaded.py", STEPS=4)
    assert f"goes on after 4 from store: {end}" in output, output
    machine.end_holders()
    bad = machine.alone("uploaded.py", STEPS=4, PLACE="gs://x/y", code=1)
    assert "upload='gs://x/y': has to be s3://bucket/prefix" in bad


def test_a_download_that_is_cut_goes_on(machine: TierMachine) -> None:
    machine.train(STEPS=2, WIDTH=WIDE)
    shutil.rmtree(machine.checkpoints)
    relay = Relay(machine.server.port, down_bytes_per_s=4 * MIB)
    running = machine.background(AWS_ENDPOINT_URL_S3=relay.url, STEPS=4, WIDTH=WIDE)
    halves = machine.checkpoints.glob(".fetch-*/rank-*")
    wait_until(
        lambda: relay.down_bytes > 6 * MIB or any(halves) or running.process.poll() is not None,
        "some of it is here",
    )
    time.sleep(0.3)
    running.process.kill()
    running.process.wait()
    assert machine.steps() == []
    assert list(machine.checkpoints.glob(".fetch-*")), "what has come stays"
    output = machine.train(STEPS=4, WIDTH=WIDE)
    relay.close()
    assert output.count("goes on after 2 from store") == 2, output
    assert not list(machine.checkpoints.glob(".fetch-*"))
