"""Several nodes: a normal run, and every way in which a part of it can go and come back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from hosts import PORT, answer

SCRIPT = str(Path(__file__).with_name("diary.py"))
RELAY = str(Path(__file__).with_name("relay.py"))
RESUME = str(Path(__file__).parents[2] / "examples" / "resume" / "train.py")


def start_all(net, *arguments, ticks=40, **variables):
    for host in net.hosts:
        host.start(
            *("--nnodes", str(len(net.hosts)), "--max-restarts", "20"),
            *arguments,
            *("--cold", SCRIPT, str(ticks)),
            KEPT=str(net.folder / "kept"),
            **variables,
        )


def ticked(net, attempts=1, ticks=3):
    """So many generations have got somewhere."""

    def check():
        lines = [line for line in net.diary() if line.what.startswith("tick")]
        seen = [line.attempt for line in lines]
        newest = max(seen, default=0)
        return len(set(seen)) >= attempts and seen.count(newest) >= ticks

    return check


def check_end(net, code=0):
    codes = [host.wait() for host in net.hosts]
    assert codes == [code] * len(net.hosts), net.logs()
    net.check_one_generation_at_a_time()


def test_two_nodes_run_to_the_end(network):
    net = network(2)
    start_all(net, "--nproc", "2", ticks=5)
    check_end(net)
    begun = {(x.host, x.rank, x.node, x.world, x.attempt) for x in net.diary()}
    assert begun == {("a", 0, 0, 4, 1), ("a", 1, 0, 4, 1), ("b", 2, 1, 4, 1), ("b", 3, 1, 4, 1)}
    for host, ranks in zip(net.hosts, [(0, 1), (2, 3)], strict=True):
        folder = host.jobs / "j" / "1"
        assert (folder / f"agent-{host.name}.hwj").exists()
        assert sorted(p.name for p in folder.glob("rank-*.log")) == [f"rank-{r}.log" for r in ranks]


def test_a_killed_rank_restarts_all_with_one_number(network, until):
    net = network(3)
    start_all(net)
    until(ticked(net), "ranks train")
    os.kill(net.hosts[1].ranks()[0], signal.SIGKILL)
    check_end(net)
    assert [host.attempts() for host in net.hosts] == [[1, 2]] * 3, net.logs()
    assert "node b: rank 1 was killed by SIGKILL" in net.log(net.hosts[0])
    ends = {line.host for line in net.diary() if line.what == "end" and line.attempt == 2}
    assert ends == {"a", "b", "c"}
    ticks = [line.what for line in net.diary() if line.what.startswith("tick") and line.rank == 0]
    assert len(ticks) <= 41, "it went on where it was, but for the step that was lost"


def test_a_users_error_on_another_node_is_not_tried_again(network):
    net = network(2)
    script = net.script(
        "import os\nif os.environ['RANK'] == '1': import no_such_module\n"
        "import time\ntime.sleep(60)\n"
    )
    for host in net.hosts:
        host.start("--nnodes", "2", "--max-restarts", "5", "--cold", script)
    check_end(net, 1)
    assert [host.attempts() for host in net.hosts] == [[1]] * 2, net.logs()
    assert "does not get better by trying again" in net.log(net.hosts[0])
    failure = json.loads((net.hosts[1].jobs / "j" / "1" / "failure.json").read_text())
    assert failure["ranks"][0]["rank"] == 1
    # Each node has a folder of its own, and on each the same question has an answer.
    first, other = (answer("why", host.jobs) for host in net.hosts)
    assert (first["category"], first["rank"]) == ("import_error", 1)
    assert first["proof"].startswith("node b: rank 1 exited with code 1")
    assert (other["category"], other["rank"]) == ("import_error", 1)
    assert "no_such_module" in other["proof"]


def test_a_killed_agent_comes_back(network, until):
    net = network(2)
    start_all(net)
    until(ticked(net), "ranks train")
    lost = net.hosts[1]
    lost.agent.kill()
    lost.agent.wait()
    until(lambda: not lost.ranks(), "the ranks die with their agent")
    lost.start("--nnodes", "2", "--cold", SCRIPT, "40", KEPT=str(net.folder / "kept"))
    check_end(net)
    assert [host.attempts() for host in net.hosts] == [[1, 2]] * 2, net.logs()
    said = answer("why", net.hosts[0].jobs)
    assert (said["category"], said["proof"]) == ("node_lost", "node b was lost")


def test_the_ranks_of_a_stopped_agent_are_fenced(network, until):
    """It cannot keep its lease, nor end its ranks: its guard does."""
    net = network(2)
    for host in net.hosts:
        host.start(
            *("--nnodes", "1:2", "--max-restarts", "20", "--cold", SCRIPT, "200"),
            KEPT=str(net.folder / "kept"),
        )
    until(ticked(net), "ranks train")
    stopped = net.hosts[1]
    stopped.agent.send_signal(signal.SIGSTOP)
    until(lambda: not stopped.ranks(), "the ranks are ended")
    until(ticked(net, attempts=2), "the other goes on alone")
    stopped.agent.send_signal(signal.SIGCONT)
    check_end(net)
    worlds = {line.attempt: line.world for line in net.diary()}
    assert [worlds[attempt] for attempt in sorted(worlds)][:2] == [2, 1], net.logs()
    assert "ranks ended for the sake of other nodes" in net.log(stopped)


def test_the_coordinators_agent_is_killed_and_comes_back(network, until):
    net = network(2)
    start_all(net)
    until(ticked(net), "ranks train")
    first = net.hosts[0]
    first.agent.kill()
    first.agent.wait()
    first.start(
        *("--nnodes", "2", "--max-restarts", "20", "--cold", SCRIPT, "40"),
        KEPT=str(net.folder / "kept"),
    )
    check_end(net)
    assert [host.attempts() for host in net.hosts] == [[1, 65537]] * 2, "a new allocation, for all"


def test_a_cut_cable_ends_the_ranks_behind_it_first(network, until):
    net = network(2)
    start_all(net)
    until(ticked(net), "ranks train")
    cut = net.hosts[1]
    cut.cable(up=False)
    until(lambda: not cut.ranks(), "a node without a lease has no ranks")
    assert cut.agent.poll() is None
    cut.cable(up=True)
    check_end(net)
    assert len(net.hosts[0].attempts()) >= 2, net.logs()
    assert net.hosts[0].attempts() == cut.attempts()


def test_a_slow_network_breaks_nothing(network, until):
    net = network(2)
    first, far = net.hosts
    command = ["ip", "netns", "exec", first.space, sys.executable, RELAY]
    relay = subprocess.Popen(
        [*command, "4000", first.address, str(PORT), "0.2"], env=net.environment
    )
    try:
        for host, meet in ((first, None), (far, f"{first.address}:4000")):
            host.start(
                *("--nnodes", "2", "--max-restarts", "20", "--cold", SCRIPT, "40"),
                meet=meet,
                KEPT=str(net.folder / "kept"),
            )
        until(ticked(net), "ranks train")
        os.kill(far.ranks()[0], signal.SIGKILL)
        check_end(net)
        assert [host.attempts() for host in net.hosts] == [[1, 2]] * 2, net.logs()
    finally:
        relay.kill()
        relay.wait()


def test_fewer_nodes_go_on_and_the_lost_one_is_taken_back(network, until):
    net = network(3)
    for host in net.hosts:
        host.start(
            *("--nnodes", "2:3", "--max-restarts", "20", "--cold", SCRIPT, "100"),
            KEPT=str(net.folder / "kept"),
        )

    def worlds():
        return [line.world for line in net.diary() if line.what.startswith("tick")]

    until(lambda: 3 in worlds(), "all three train")
    lost = net.hosts[2]
    lost.agent.kill()
    lost.agent.wait()
    until(lambda: 2 in worlds(), "two go on")
    lost.start("--nnodes", "2:3", "--cold", SCRIPT, "100", KEPT=str(net.folder / "kept"))
    until(lambda: worlds()[-1:] == [3], "it is taken back")
    check_end(net)
    order = list(dict.fromkeys((line.attempt, line.world) for line in net.diary()))
    assert [world for _, world in order] == [3, 2, 3], net.logs()


def test_a_stop_at_the_first_node_is_the_end_for_all(network, until):
    net = network(2)
    start_all(net)
    until(ticked(net), "ranks train")
    net.hosts[0].agent.terminate()
    check_end(net, 143)


def test_a_step_of_slurm_needs_no_option(network):
    net = network(2)
    for index, host in enumerate(net.hosts):
        host.start(
            *("--cold", SCRIPT, "5"),
            meet="",
            SLURM_JOB_ID="4711",
            SLURM_STEP_ID="0",
            SLURM_NODEID=str(index),
            SLURM_STEP_NUM_NODES="2",
            SLURM_STEP_TASKS_PER_NODE="1(x2)",
            SLURM_STEP_NODELIST="10.77.0.[1-2]",
        )
    check_end(net)
    assert {(x.host, x.rank, x.world) for x in net.diary()} == {("a", 0, 2), ("b", 1, 2)}
    assert (net.hosts[1].jobs / "diary-4711" / "1" / "agent-b.hwj").exists()


def test_a_real_training_resumes_with_warm_ranks(network, until):
    """In a folder that the nodes share, as on a cluster's file system."""
    net = network(2)
    jobs = net.folder / "shared"
    for host in net.hosts:
        host.start(
            *("--nnodes", "2", "--max-restarts", "5", RESUME, "--steps", "120"),
            *("--save-every", "10", "--checkpoint", str(net.folder / "ck.pt")),
            HEADWAY_DIR=str(jobs),
            OMP_NUM_THREADS="1",  # a fork server with threads cannot fork
        )
    until((net.folder / "ck.pt").exists, "a checkpoint")
    os.kill(net.hosts[1].ranks()[0], signal.SIGKILL)
    check_end(net)
    assert "done after step 120" in net.log(net.hosts[0])
    locks = sorted(p.name for p in (jobs / "j").glob("*.lock"))
    assert locks == ["agent-a.lock", "agent-b.lock", "agent.lock"]
    facts = answer("report", jobs)
    assert len(facts["attempts"]) == 2, "both nodes wrote into the same ones"
    journals = sorted(p.name for p in (jobs / "j" / "2").glob("*.hwj"))
    assert journals == ["agent-a.hwj", "agent-b.hwj", "rank-00000.hwj", "rank-00001.hwj"]
    assert "plain start" not in net.logs()
