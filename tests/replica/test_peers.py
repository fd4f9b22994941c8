"""A machine is lost with all that it had in memory: the others have it, and nothing is trained
twice. Trainings end as if nothing had been, every rank of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from machines import Job, Machines
from replica_machine import wait_until


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path)
    yield machines
    machines.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[int, str]]:
    """How every rank ends where nobody dies."""
    known: dict[str, dict[int, str]] = {}

    def ends(count: int, local: int = 1, **variables: object) -> dict[int, str]:
        key = repr((count, local, sorted(variables.items())))
        if key not in known:
            machines = Machines(tmp_path_factory.mktemp("undisturbed"))
            try:
                known[key] = machines.start([*range(count)], local, **variables).ends()
            finally:
                machines.close()
        return known[key]

    return ends


def killed_after(machines: Machines, step: int, count: int, local: int = 1, **v: object) -> Job:
    job = machines.start([*range(count)], local, PAUSE=step, **v)
    job.pauses_after(step)
    job.kill()
    for machine in range(count):
        machines.end_holder(machine)
    return job


@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_machine_is_served_by_the_other(
    machines: Machines, undisturbed: Callable[..., dict[int, str]], lost: int
) -> None:
    killed_after(machines, 5, 2)
    machines.lose(lost)
    job = machines.start([0, 1])
    assert job.ends() == undisturbed(2)
    assert {step for step, _ in job.origins()} == {5}
    assert job.origins()[lost] == (5, "peer")
    assert job.origins()[1 - lost][1].startswith("replica")


def test_two_ranks_on_each_of_two_machines(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    killed_after(machines, 4, 2, 2)
    machines.lose(0)
    job = machines.start([0, 1], 2)
    assert job.ends() == undisturbed(2, 2)
    assert [step for step, _ in job.origins()] == [4] * 4
    assert [tier for _, tier in job.origins()][:2] == ["peer"] * 2


@pytest.mark.parametrize("on_disk", [False, True])
def test_two_neighbours_are_lost_at_once(
    machines: Machines, undisturbed: Callable[..., dict[int, str]], on_disk: bool
) -> None:
    """Nobody is left who knows what rank 0 had of its own: its guest was on machine 1."""
    killed_after(machines, 5, 3, DISK=3 if on_disk else 0)
    machines.lose(0)
    machines.lose(1)
    job = machines.start([0, 1, 2])
    assert job.ends() == undisturbed(3)
    where = (3, "disk") if on_disk else (0, "None")
    assert job.origins() == [where] * 3
    goes_on = r"step 3 \(disk\)" if on_disk else "the beginning: nothing is saved"
    assert re.search(
        rf"step 5 is in memory only in part: .* is left: 0\. Going on from {goes_on}", job.output()
    ), job.output()


def test_two_of_four_that_are_no_neighbours(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    killed_after(machines, 4, 4, STEPS=6)
    machines.lose(0)
    machines.lose(2)
    job = machines.start([0, 1, 2, 3], STEPS=6)
    assert job.ends() == undisturbed(4, STEPS=6)
    assert [tier == "peer" for _, tier in job.origins()] == [True, False, True, False]


def test_ranks_of_fewer_machines_are_numbered_anew(machines: Machines) -> None:
    """Machine 0 does not come back: what was rank 1 and 2 is now rank 0 and 1."""
    killed_after(machines, 4, 3)
    machines.lose(0)
    job = machines.start([1, 2], OTHERS=1)
    job.ends()
    assert [step for step, _ in job.origins()] == [4, 4]
    assert "loader is not restored: it was saved by 3 ranks" in job.output()


def test_more_machines_than_before(machines: Machines) -> None:
    killed_after(machines, 4, 2)
    job = machines.start([0, 1, 2], OTHERS=1)
    job.ends()
    assert [step for step, _ in job.origins()] == [4, 4, 4]
    assert job.origins()[2] == (4, "peer")


def test_what_few_have_in_memory_goes_to_the_disk_next(machines: Machines) -> None:
    """Also on one machine, with another number of ranks: then memory serves too."""
    killed_after(machines, 4, 1, 2)
    assert not list(machines.checkpoints.glob("step-*"))
    job = machines.start([0], STEPS=6, OTHERS=1)
    job.ends()
    assert job.origins() == [(4, "replica-copy")]
    wait_until(lambda: bool(list(machines.checkpoints.glob("step-00000005*"))), "it is on disk")


def test_the_same_shards_on_another_machine(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    killed_after(machines, 4, 2, 2, MESH="hybrid")
    machines.lose(1)
    job = machines.start([0, 1], 2, MESH="hybrid")
    assert job.ends() == undisturbed(2, 2, MESH="hybrid")
    assert [step for step, _ in job.origins()] == [4] * 4
    assert [tier for _, tier in job.origins()][2:] == ["peer"] * 2


def test_shards_that_only_the_lost_machine_had(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    killed_after(machines, 5, 2, MESH="shards", DISK=3)
    machines.lose(1)
    job = machines.start([0, 1], MESH="shards")
    assert job.ends() == undisturbed(2, MESH="shards")
    assert job.origins() == [(3, "disk")] * 2
    assert re.search(
        r"step 5 \(peer\) is passed over: model\.\w+ from \[\d+, 0\] on, which rank 1 needs, is in "
        "no memory that is left",
        job.output(),
    ), job.output()


def damage(machines: Machines, machine: int) -> None:
    """A byte in each slot, far from its head."""
    for slot in machines.slots(machine):
        with slot.open("r+b") as file:
            file.seek(-4096, 2)
            old = file.read(1)
            file.seek(-4096, 2)
            file.write(bytes([old[0] ^ 1]))


def test_memory_that_is_damaged_serves_nobody(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    """And its own rank is served by the others, like one that lost it."""
    killed_after(machines, 4, 3)
    damage(machines, 1)
    job = machines.start([0, 1, 2])
    assert job.ends() == undisturbed(3)
    assert [tier == "peer" for _, tier in job.origins()] == [False, True, False]
    assert re.search(r"other ranks serve for .*slot-\d+: damaged between bytes", job.output())


def test_damaged_where_it_is_the_only_copy(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    killed_after(machines, 5, 2, DISK=3)
    machines.lose(0)
    damage(machines, 1)
    job = machines.start([0, 1])
    assert job.ends() == undisturbed(2)
    assert job.origins() == [(3, "disk")] * 2
    assert re.search(r"step 5 \(peer\) is passed over: .*damaged between bytes", job.output())


def test_a_rank_that_fails_while_it_gets_its_state(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    killed_after(machines, 5, 2, DISK=3)
    machines.lose(1)
    job = machines.start([0, 1], BREAK="receive")
    assert job.ends() == undisturbed(2)
    assert job.origins() == [(3, "disk")] * 2
    assert "(peer) is passed over: RuntimeError: broken on purpose" in job.output()


def test_a_rank_that_dies_while_it_gets_its_state(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    """The others end with an error, and the next attempt finds everything as it was."""
    killed_after(machines, 5, 2)
    machines.lose(1)
    job = machines.start([0, 1], BREAK="die")
    assert all(code != 0 for code in job.codes()), job.output()
    job = machines.start([0, 1])
    assert job.ends() == undisturbed(2)
    assert [step for step, _ in job.origins()] == [5, 5]


def test_too_much_of_its_own_is_not_kept_for_anybody(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    own = 17 << 20  # numbers of four bytes
    job = killed_after(machines, 3, 2, OWN=own, DISK=2)
    assert job.output().count("MiB that no other rank has") == 2
    machines.lose(0)
    job = machines.start([0, 1], OWN=own)
    assert job.ends() == undisturbed(2, OWN=own)
    assert job.origins() == [(2, "disk")] * 2


def test_machines_are_lost_again_and_again(
    machines: Machines, undisturbed: Callable[..., dict[int, str]]
) -> None:
    """At any moment, also while some have saved a step and others have not."""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    reached = 0
    for _ in range(4):
        job = machines.start([0, 1, 2], STEPS=40, EVERY=100000)
        # Not in the first step after a loss: until all have saved it, what the lost machine had of
        # its own is in one memory, and docs/saving.md does not promise more.
        target = reached + chance.randrange(2, 7)
        victim = chance.randrange(3)
        waits(job, f"rank {victim} step {target}\n")
        job.kill()
        for machine in range(3):
            machines.end_holder(machine)
        saved = max(int(step) for step in re.findall(r"step (\d+)\n", job.output()))
        assert job.origins()[0][0] >= reached - 1, job.output()
        assert len({step for step, _ in job.origins()}) == 1, job.output()
        reached = saved
        machines.lose(chance.randrange(3))
    job = machines.start([0, 1, 2], STEPS=40)
    assert job.ends() == undisturbed(3, STEPS=40)


def waits(job: Job, text: str) -> None:
    def there() -> bool:
        assert all(process.is_alive() for process in job.processes), job.output()
        return text in job.output()

    wait_until(there, text)
