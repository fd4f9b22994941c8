"""What `headway report`, `interval` and `why` tell of jobs that save with hw.checkpointer."""

from __future__ import annotations

import json
import re

from replica_machine import SCRIPTS, Machine

TOLD = SCRIPTS / "told.py"


def run(machine: Machine, *options: object, code: int = 0, **variables: object) -> str:
    command = ("run", "--nproc", 2, "--job", "j", *options, TOLD)
    return machine.headway(*command, code=code, **variables)


def told(machine: Machine, verb: str) -> dict:
    return json.loads(machine.headway(verb, "j", "--json"))


def test_a_clean_run_has_nothing_odd(machine: Machine) -> None:
    run(machine)
    report = told(machine, "report")
    assert report["state"] == "finished" and report["steps"]["finished"] == 12
    assert set(report["coverage"]["anomalies"].values()) == {0}, report["coverage"]
    assert report["checkpoint"]["saves"] >= 10, "one may have found no room yet"
    assert report["checkpoint"]["failed"] == 0
    assert report["checkpoint"]["restarts"] == {}
    assert "Odd in the records" not in machine.headway("report", "j")


def test_saves_that_fail_are_counted(machine: Machine) -> None:
    run(machine, BREAK=5)
    checkpoint = told(machine, "report")["checkpoint"]
    assert checkpoint["saves"] >= 10 and checkpoint["failed"] == 2
    text = machine.headway("report", "j")
    assert re.search(r"Checkpoints +1\d saves, .*2 did not get to the disk", text), text


def test_a_restart_from_memory_is_told_and_counts(machine: Machine) -> None:
    run(machine, "--max-restarts", 1, KILL=7)
    assert told(machine, "report")["checkpoint"]["restarts"] == {"replica": 1}
    text = machine.headway("report", "j")
    assert re.search(r"Restarts +1 from replica", text), text
    interval = told(machine, "interval")
    assert interval["job"]["failures"]["process"] == 1
    assert interval["job"]["answered"] == {"memory": 1, "storage": 0}
    assert interval["interval_s"] is None and "too short to say" in interval["too_short"]
    stated = ("--failures-per-day", 3, "--json")
    answer = json.loads(machine.headway("interval", "j", *stated))
    assert answer["interval_s"] > 0 and "stage_s" in answer["cost"]


def test_a_killed_rank_is_told_first(machine: Machine) -> None:
    run(machine, code=137, KILL=7)
    lines = machine.headway("why", "j").splitlines()
    assert lines[0] == "job j, attempt 1: rank 1 was killed by SIGKILL, and nothing says why"
    assert [line.split()[0] for line in lines[1:] if line.startswith("  ") and line[2] != " "][
        :3
    ] == ["known", "next", "then"], lines
    assert "It had finished step 7." in " ".join(" ".join(lines).split())
    assert told(machine, "why")["category"] == "unknown"


def test_what_a_script_does_wrong_is_not_tried_again(machine: Machine) -> None:
    run(machine)
    output = run(machine, "--max-restarts", 3, code=1, MISUSE=1)
    assert "(checkpointer_misuse: " in output and "restarting" not in output, output
    assert re.search(r"or save into another folder\); not restarted: checkpointer_misuse", output)
    assert "1 attempt, 1 failure in this run; 2 attempts in all" in output
    verdict = told(machine, "why")
    assert (verdict["category"], verdict["origin"]) == ("checkpointer_misuse", "user")
    assert "call restore()" in verdict["proof"] and "folder" not in verdict["next"]


def test_states_that_do_not_fit_are_not_tried_again(machine: Machine) -> None:
    run(machine)
    output = run(machine, "--max-restarts", 3, code=1, WIDTH=5)
    assert "restarting" not in output, output
    verdict = told(machine, "why")
    assert verdict["category"] in ("no_good_checkpoint", "checkpoint_mismatch"), verdict
    assert not verdict["retryable"] and verdict["origin"] == "user"


def test_damaged_checkpoints_are_not_tried_again(machine: Machine) -> None:
    run(machine)
    for path in machine.checkpoints.glob("step-*/*.safetensors"):
        path.write_bytes(b"")
    output = run(machine, "--max-restarts", 3, code=1)
    assert "restarting" not in output, output
    verdict = told(machine, "why")
    assert verdict["category"] == "no_good_checkpoint" and not verdict["retryable"]
    assert "headway ckpt verify" in verdict["next"]
