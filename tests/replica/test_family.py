"""What the agent tells the tuner of saves: how earlier jobs of the family fared, and whether this
job's last attempt was cut off."""

from __future__ import annotations

import json
import re

from replica_machine import SCRIPTS, Machine

PLANS = SCRIPTS / "plans.py"


def record(machine: Machine, job: str, family: str, attempts: int) -> None:
    """A job of so many attempts, each of which trained for ten minutes and was killed."""
    lines: list[dict[str, object]] = []
    for attempt in range(1, attempts + 1):
        begin = 1_794_000_000 + 1000 * attempt
        agent = {"attempt": attempt, "rank": "agent", "job": job}
        lines.append({**agent, "t": begin, "type": "attr", "key": "family", "value": family})
        lines.append({**agent, "t": begin, "type": "mark", "name": "launcher_start"})
        for n in range(10):
            step = {"attempt": attempt, "job": job, "step": 10 * attempt + n}
            lines.append({**step, "t": begin + 60 * n, "type": "step"})
            lines.append({**step, "t": begin + 60 * n + 60, "type": "step_end"})
        for name in ("failure", "exit"):
            end = {"type": "mark", "name": name, "signal": 9, "origin": "infra"}
            lines.append({**agent, "t": begin + 601, **end})
    folder = machine.jobs / job
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def plans(output: str) -> list[tuple[int, int]]:
    found = re.findall(r"plans (\d+) s after (\d+) failures", output)
    return [(int(seconds), int(failures)) for seconds, failures in found]


def test_a_family_that_fails_often_saves_more_often_from_the_beginning(machine: Machine) -> None:
    record(machine, "before-1", "fragile", 30)
    record(machine, "before-2", "fragile", 30)
    record(machine, "sound-1", "sound", 1)
    output = machine.headway("run", "--job", "a", "--attr", "family=fragile", PLANS)
    [(fragile, _)] = plans(output)
    [(unknown, _)] = plans(machine.headway("run", "--job", "b", "--attr", "family=new", PLANS))
    [(sound, _)] = plans(machine.headway("run", "--job", "c", "--attr", "family=sound", PLANS))
    assert fragile * 3 < unknown, "sixty failures in ten hours, and none known of"
    assert fragile < sound <= unknown


def test_only_what_was_cut_off_is_a_failure(machine: Machine) -> None:
    """A job that is run again because its last run came to its end has not failed."""
    job = ["run", "--job", "j", PLANS]
    machine.headway(*job)
    [(_, failures)] = plans(machine.headway(*job, FAIL=1, code=None))
    assert failures == 0, "the run before came to its end"
    [(_, failures)] = plans(machine.headway(*job))
    assert failures == 1
