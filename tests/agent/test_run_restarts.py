"""What is tried again and what is not, and what a failure leaves behind."""

from __future__ import annotations

import json
import signal

import pytest


def failure_file(agent, job: str, attempt: int) -> dict:
    return json.loads((agent.jobs / job / str(attempt) / "failure.json").read_text())


def note(done) -> str:
    return next(
        line for line in done.stderr.decode().splitlines() if line.startswith("headway: rank")
    )


@pytest.mark.parametrize("nproc", ["1", "2"])
def test_a_users_error_is_not_tried_again(agent, nproc):
    """Of one rank the output is its own: without the hook nothing is known but the code."""
    text = "import no_such_module_anywhere"
    done = agent.python(text, "--job", "j", "--nproc", nproc, "--max-restarts", "3")
    assert done.returncode == 1
    if nproc == "1":
        assert agent.attempts("j") == [1, 2, 3]  # until the loop is cut
        return
    assert agent.attempts("j") == [1]
    assert "ModuleNotFoundError: No module named 'no_such_module_anywhere'" in note(done)
    assert "; not restarted: " in note(done)
    kept = failure_file(agent, "j", 1)
    assert kept["verdict"]["origin"] == "user" and not kept["verdict"]["retryable"]
    (first, *_) = kept["ranks"]
    assert first["tail"][-1].startswith("ModuleNotFoundError")
    (mark,) = [m for m in agent.journal("j", 1).named("failure") if m.origin == "user"]
    assert mark.rank == kept["verdict"]["rank"]


def test_unless_it_is_asked_for(agent):
    text = "import no_such_module_anywhere"
    done = agent.python(text, "--job", "j", "--nproc", "2", "--max-restarts", "1", "--retry-all")
    assert done.returncode == 1
    assert agent.attempts("j") == [1, 2]
    assert "the only restart is used" in done.stderr.decode()


def test_a_crash_loop_is_cut(agent):
    done = agent.python("import os; os._exit(9)", "--job", "j", "--max-restarts", "50")
    assert done.returncode == 9
    assert agent.attempts("j") == [1, 2, 3]
    assert "a crash loop, 3 failures in a row without a new step" in done.stderr.decode()
    assert failure_file(agent, "j", 3)["decision"].startswith("not restarted: a crash loop")
    assert failure_file(agent, "j", 1)["decision"] == "restarted at once"


def test_a_kill_is_unknown_without_evidence_and_tried_again(agent):
    text = """
import os, signal
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = agent.python(text, "--job", "j", "--max-restarts", "1/1h")
    assert done.returncode == 0
    assert failure_file(agent, "j", 1)["verdict"]["category"] == "unknown"
    assert note(done) == "headway: rank 0 was killed by SIGKILL; restarting (1 of 1)"


def test_secrets_stay_out_of_what_is_kept_and_told(agent):
    secret = "hf_" + "A" * 34
    text = f"""
import sys
print("https://me:{secret}@hub.example/x")
raise ValueError("token={secret}")
"""
    done = agent.python(text, "--job", "j", "--nproc", "2")
    kept = (agent.jobs / "j" / "1" / "failure.json").read_text()
    assert secret not in kept and "redacted" in kept
    assert secret not in note(done)


def test_a_stop_during_the_wait_for_a_restart(agent, until):
    text = "import os; open('n', 'a').write('x'); os._exit(9)"
    agent.environment["HEADWAY_TEST"] = "1"
    process = agent.start("--python", "python3", "--max-restarts", "9", agent.script(text))
    count = agent.folder / "n"
    until(lambda: count.exists() and count.stat().st_size >= 2, "it failed twice")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode in (9, 128 + signal.SIGTERM)


@pytest.mark.parametrize("bad", ["x", "3/", "-1", "3/1w"])
def test_a_budget_that_is_none_is_refused_with_an_example(agent, bad):
    done = agent.run(f"--max-restarts={bad}", agent.script("pass"))
    assert done.returncode == 2
    assert "3/1h" in done.stderr.decode()
