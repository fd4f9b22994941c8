"""What `headway why` says of jobs whose end no log explains."""

from __future__ import annotations

import json
import signal
import sys

# Rank 1 ends with a code and says nothing; its peer complains of the connection.
GOES = """
import os, sys, time
if os.environ["RANK"] == "1":
    sys.exit(3)
time.sleep(0.5)
print("RuntimeError: [gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:4: Connection reset "
      "by peer", file=sys.stderr, flush=True)
sys.exit(1)
"""
SLEEPS = "import time\nprint('begun', flush=True)\ntime.sleep(1000)\n"


def why(agent) -> dict:
    done = agent.headway("why", "j", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def begun(agent, until):
    command = ("--job", "j", "--nproc", "2", "--python", sys.executable, "--cold")
    process = agent.start(*command, agent.script(SLEEPS))
    log = agent.jobs / "j" / "1" / "rank-1.log"
    until(lambda: log.exists() and "begun" in log.read_text(), "rank 1 has begun")
    return process


def test_a_rank_that_left_without_a_word_is_named_not_its_peer(hooked):
    command = ("--job", "j", "--nproc", "2", "--python", sys.executable, "--grace", "2")
    done = hooked.run(*command, hooked.script(GOES))
    assert done.returncode == 3
    answer = why(hooked)
    assert (answer["category"], answer["rank"]) == ("unknown", 1)
    assert answer["proof"] == "exit code 3"
    assert answer["decision"].startswith("not restarted")


def test_a_stop_from_outside_is_told_as_one(hooked, until):
    process = begun(hooked, until)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert b"got SIGTERM from process" in errors
    answer = why(hooked)
    assert (answer["category"], answer["role"], answer["origin"]) == ("stopped", "outcome", "user")
    assert "same --job" in answer["next"]


def test_a_running_job_and_one_whose_agent_was_killed(hooked, until):
    process = begun(hooked, until)
    assert "it is running" in hooked.headway("why", "j").stdout
    process.kill()
    process.communicate(timeout=60)
    first = hooked.headway("why", "j").stdout.splitlines()[0]
    assert first == "job j: its agent or its machine was killed, and the ranks with it"
    answer = why(hooked)
    assert answer["category"] == "unended"
    assert answer["rank"] is None
    assert "killed" in answer["proof"]
