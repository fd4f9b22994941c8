"""A notice on one node: the ranks of all nodes end after the same step."""

from __future__ import annotations

import os
import signal

import pytest
from hosts import answer

# Nothing holds the ranks together but the agreement; each has a pace of its own.
TEXT = """
import os, pathlib, random, sys, time
import headway as hw
folder, rank = pathlib.Path(os.environ["SAVED"]), os.environ["RANK"]
saved = folder / "0"
first = int(saved.read_text()) if saved.exists() else 0
hw.init()
if first:
    hw.restore(first, first)
pace = random.Random(int(rank) + int(os.environ["SEED"]))
for step in hw.steps(range(first + 1, 1_000_000), start=first):
    time.sleep(pace.random() * 0.004)
    (folder / f"at-{rank}").write_text(str(step))
    if hw.should_stop(step):
        time.sleep(float(os.environ.get("SAVE_S", "0")) * (rank != "0"))
        (folder / (rank + ".new")).write_text(str(step))
        os.replace(folder / (rank + ".new"), folder / rank)
        break
"""


class Job:
    def __init__(self, net, **variables):
        self.net = net
        self.saved = net.folder / "saved"
        self.saved.mkdir()
        self.seed = int.from_bytes(os.urandom(3), "little")
        print("seed", self.seed)
        self.script = net.script(TEXT)
        self.variables = variables

    def start(self, host):
        host.start(
            *("--nnodes", str(self.net.count), "--nproc", "2", "--max-restarts", "0"),
            *("--cold", self.script),
            SAVED=str(self.saved),
            SEED=str(self.seed),
            HEADWAY_DIR=str(self.net.folder / "shared"),
            **self.variables,
        )

    def run(self, until):
        """All nodes, until steps are made."""
        for host in self.net.hosts:
            self.start(host)
        until(lambda: all(self.at(rank) > 20 for rank in self.ranks()), "steps are made")

    def at(self, rank):
        path = self.saved / f"at-{rank}"
        return int(path.read_text() or 0) if path.exists() else 0

    def ranks(self):
        return range(2 * self.net.count)

    def last_steps(self):
        return {rank: (self.saved / str(rank)).read_text() for rank in self.ranks()}


def test_a_notice_on_one_node_stops_all_after_the_same_step(network, until):
    net = network(3)
    job = Job(net)
    job.run(until)
    preempted = net.hosts[1]
    preempted.agent.send_signal(signal.SIGTERM)
    assert preempted.wait() == 128 + signal.SIGTERM, net.logs()
    until(lambda: all((job.saved / str(rank)).exists() for rank in job.ranks()), "all have saved")
    steps = job.last_steps()
    assert len(set(steps.values())) == 1, steps
    last = int(steps[0])
    for host in net.hosts:
        assert f"all ranks save and end after step {last}" in net.log(host)
    job.start(preempted)
    until(lambda: all(job.at(rank) > last + 20 for rank in job.ranks()), "the job goes on")
    for host in net.hosts:
        host.agent.send_signal(signal.SIGTERM)
    for host in net.hosts:
        host.wait()
    facts = answer("report", net.folder / "shared")
    assert (facts["l1"]["failures"], facts["l1"]["preemptions"]) == (0, 1), net.logs()
    assert facts["state"] == "stopped"
    assert facts["steps"]["replayed"] == 0
    assert [attempt["first_step"] for attempt in facts["attempts"]] == [1, last + 1]
    assert "2 attempts, 0 failures" in net.log(net.hosts[0])


@pytest.mark.parametrize("save_s", ["0", "2"])
def test_at_the_first_node_it_ends_the_job_when_all_have_saved(network, until, save_s):
    net = network(2)
    job = Job(net, SAVE_S=save_s)
    job.run(until)
    net.hosts[0].agent.send_signal(signal.SIGTERM)
    assert [host.wait() for host in net.hosts] == [128 + signal.SIGTERM] * 2, net.logs()
    assert len(set(job.last_steps().values())) == 1, net.logs()


def test_a_notice_that_all_nodes_get_is_one(network, until):
    """As a scheduler sends it."""
    net = network(2)
    job = Job(net)
    job.run(until)
    for host in net.hosts:
        host.agent.send_signal(signal.SIGTERM)
    assert [host.wait() for host in net.hosts] == [128 + signal.SIGTERM] * 2, net.logs()
    assert len(set(job.last_steps().values())) == 1, net.logs()


def test_a_node_that_is_cut_off_stops_its_own_ranks_together(network, until):
    net = network(2)
    job = Job(net)
    job.run(until)
    net.hosts[1].cable(up=False)
    net.hosts[1].agent.send_signal(signal.SIGTERM)
    net.hosts[1].wait()
    assert not net.hosts[1].ranks()
    net.hosts[0].agent.send_signal(signal.SIGTERM)
    net.hosts[0].wait()
