"""Without `every_steps` the checkpointer decides itself when to save, and all ranks as one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from replica_machine import SCRIPTS, Machine

TRAIN = SCRIPTS / "train.py"


def cadence_of(checkpoint: Path) -> list[float]:
    """What the job has learnt, as it is saved."""
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(checkpoint / "rank-00000.safetensors", "pt") as file:
        return json.loads(bytes(file.get_tensor("headway.rank-00000").numpy()))["cadence"]


def test_the_first_save_comes_early(machine: Machine) -> None:
    """The interval is tuned from what saves cost: until one was seen, all would be lost."""
    output = machine.headway(
        "run", "--nproc", 2, "--max-restarts", 1, TRAIN, EVERY=-1, STEPS=40, SLOW=0.05, KILL=30
    )
    again = re.findall(r"goes on after (\d+) from replica", output)
    assert len(again) == 2 and len(set(again)) == 1, output
    assert 2 <= int(again[0]) <= 30
    assert machine.steps()[0] <= 30, "and it went to the disk"
    assert machine.steps()[-1] == 40, "the last step is saved by close()"
    assert cadence_of(min(machine.checkpoints.glob("step-*")))[4] < 0, "nothing was known by then"


def test_it_saves_when_it_pays(machine: Machine) -> None:
    output = machine.headway(
        "run", "--nproc", 2, "--max-restarts", 1, TRAIN, EVERY=0, STEPS=40, SLOW=0.05, KILL=30
    )
    again = re.findall(r"goes on after (\d+) from replica", output)
    assert len(again) == 2 and len(set(again)) == 1, output
    assert 0 < int(again[0]) <= 30
    assert len(machine.steps()) >= 2, "they were written, of both ranks"
    process, node, zone, seconds, blocking, *_ = cadence_of(max(machine.checkpoints.glob("step-*")))
    assert (process, node, zone) == (1, 0, 0), "the failure was of a process"
    assert seconds > 0.5, "both attempts count"
    assert blocking > 0


class Alone:
    alone = True

    def first_says(self, numbers: list[int]) -> list[int]:
        return numbers


def test_who_goes_on_from_the_first_save_saves_early_again() -> None:
    """It was saved before its own cost was known. Later ones know it, and there is nothing to learn
    early."""
    from headway.checkpoint.cadence import COST, Due, Tuned

    def attempt(memory: list[float] | None = None) -> Tuned:
        tuned = Tuned(Alone(), 10.0, 3600.0)  # type: ignore[arg-type]
        if memory is not None:
            tuned.remember(memory, True)
        return tuned

    first = attempt()
    assert [first.due(step) for step in (1, 2)] == [Due.NOTHING, Due.PERSIST]
    first.started(2, True)
    saved = first.memory()
    first.returned(2)
    first.settled(2, True)
    assert saved[COST] < 0 <= first.memory()[COST]
    second = attempt(saved)
    assert [second.due(step) for step in (3, 4, 5)] == [Due.NOTHING, Due.PERSIST, Due.NOTHING]
    assert second.memory()[0] == 1, "the failure counts all the same"
    later = attempt(first.memory())
    assert [later.due(step) for step in (3, 4, 5)] == [Due.NOTHING] * 3


def interference_of(monkeypatch: pytest.MonkeyPatch, step_s: list[float], evaluated: int) -> float:
    """Of a save after the tenth step, as the tuner sees it. `evaluated`: of the next one's time."""
    from headway.checkpoint import cadence

    now, evaluation = [0.0], [0.0]
    monkeypatch.setattr(cadence.time, "monotonic_ns", lambda: int(now[0] * 1e9))
    monkeypatch.setattr(cadence.core, "evaluated_ns", lambda: int(evaluation[0] * 1e9))
    tuned = cadence.Tuned(Alone(), 10.0, 3600.0)  # type: ignore[arg-type]
    for step, seconds in enumerate(step_s, 1):
        now[0] += seconds
        evaluation[0] += evaluated if step == 11 else 0
        tuned.due(step)
        if step == 10:
            tuned.started(step, True)
            tuned.returned(step)
        if step == 12:
            tuned.settled(10, True)
    return tuned.memory()[cadence.COST + 1]


def test_an_evaluation_is_not_held_against_the_save(monkeypatch: pytest.MonkeyPatch) -> None:
    slowed = [1.0] * 10 + [31.0] + [1.0] * 4
    assert interference_of(monkeypatch, slowed, 0) == pytest.approx(30)
    assert interference_of(monkeypatch, slowed, 30) == pytest.approx(0, abs=1e-6)


def test_what_an_evaluation_takes_is_known(machine: Machine) -> None:
    """By the phase that the script names, and by what the hook sees of a loop."""
    script = machine.tmp / "evaluates.py"
    script.write_text(
        "import time, torch, headway as hw\n"
        "from headway._recorder import core\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters())\n"
        "def train():\n"
        "    for batch in torch.utils.data.DataLoader(torch.ones(4, 2)):\n"
        "        model(batch).sum().backward(); optimizer.step()\n"
        "train()\n"
        "assert core.evaluated_ns() == 0\n"
        "with hw.phase('eval'): time.sleep(0.02)\n"
        "named = core.evaluated_ns()\n"
        "assert named >= 20_000_000, named\n"
        "with torch.no_grad():\n"
        "    for batch in torch.utils.data.DataLoader(torch.ones(4, 2)): time.sleep(0.01)\n"
        "seen = core.evaluated_ns() - named\n"
        "assert seen >= 30_000_000, seen\n"
        "train(); time.sleep(0.05); again = core.evaluated_ns(); time.sleep(0.01)\n"
        "assert core.evaluated_ns() == again, 'it is over'\n"
    )
    machine.headway("run", script)
