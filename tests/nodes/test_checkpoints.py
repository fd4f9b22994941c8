"""hw.checkpointer on several nodes, each with its own holder and shared memory, and one folder of
checkpoints that they share. Ranks, holders and agents are killed for real."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import BINARY, Host, Network, answer
from marked_processes import proc_file

TRAIN = str(Path(__file__).parents[1] / "replica" / "scripts" / "train.py")
PACKAGE = os.environ.get("HEADWAY_PYTHON", str(BINARY.parent / "python"))


class Job:
    def __init__(self, net: Network, **variables: object) -> None:
        self.net = net
        self.folder = net.folder / "checkpoints"
        self.jobs = net.folder / "shared"
        self.variables = {key: str(value) for key, value in variables.items()}
        for host in net.hosts:
            self.start(host)

    def memory(self, host: Host) -> Path:
        """Both nodes are on one machine: each has its own."""
        return Path("/dev/shm") / f"hw-test-{self.net.mark[:8]}-{host.name}"

    def start(self, host: Host) -> None:
        host.start(
            *("--nnodes", str(self.net.count), "--max-restarts", "5", "--cold", TRAIN),
            FOLDER=str(self.folder),
            HEADWAY_DIR=str(self.jobs),
            HEADWAY_REPLICA_DIR=str(self.memory(host)),
            OMP_NUM_THREADS="1",
            PYTHONPATH=PACKAGE,
            **self.variables,
        )

    def said(self, text: str) -> int:
        return len(re.findall(text, self.net.logs()))

    def steps(self) -> list[int]:
        """Of the checkpoints that are there."""
        return sorted(int(path.name.split("-")[1]) for path in self.folder.glob("step-*"))

    def ckpt(self, *words: object) -> str:
        command = [str(BINARY), "ckpt", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def end(self) -> list[str]:
        """How each rank ended; everything that is saved is good, and nothing else is there."""
        codes = [host.wait() for host in self.net.hosts]
        assert codes == [0] * self.net.count, self.net.logs()
        self.ckpt("verify", self.folder)
        assert not list(self.folder.glob(".parts-*")), self.net.logs()
        for host in self.net.hosts:
            assert not list(self.memory(host).glob("*/*")), "memory is given back"
        return ends_of(self.net.logs())


def ends_of(output: str) -> list[str]:
    found = re.findall(r"^\[\d\] rank \d end (.*)$", output, re.MULTILINE)
    assert len(found) == 2, output
    return sorted(found)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The same two ranks on one machine that nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    environment = os.environ | {
        "FOLDER": str(folder / "checkpoints"),
        "HEADWAY_DIR": str(folder / "jobs"),
        "HEADWAY_PYTHON_DIR": PACKAGE,
        "PYTHONPATH": PACKAGE,
        "OMP_NUM_THREADS": "1",
    }
    command = [BINARY, "run", "--nproc", "2", "--cold", "--python", sys.executable, TRAIN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return ends_of(done.stdout)


@pytest.fixture
def two(network) -> Iterator[Network]:
    net = network(2)
    yield net
    for path in Path("/dev/shm").glob(f"hw-test-{net.mark[:8]}-*"):
        shutil.rmtree(path)


def kill_holder(net: Network, host: Host) -> None:
    for pid in net.living():
        words = proc_file(pid, "cmdline").split(b"\0")
        if b"hold" in words and f"HOST={host.name}".encode() in proc_file(pid, "environ"):
            os.kill(pid, signal.SIGKILL)


def test_a_killed_rank_costs_no_step_on_any_node(two, undisturbed):
    job = Job(two, KILL=7, SURE=1)
    assert job.end() == undisturbed
    assert job.said("goes on after 7 from replica") == 2, two.logs()
    attempts = answer("report", job.jobs)["attempts"]
    assert [attempt["restored_step"] for attempt in attempts] == [None, 7]
    assert attempts[1]["restored_tier"].startswith("replica")
    assert job.steps() == [10, 11, 12], "retention is the first node's, for all"
    assert "2 ranks" in job.ckpt("show", job.folder) or "rank-00001" in job.ckpt("show", job.folder)


def lose(job: Job, host: Host) -> None:
    """The machine is gone, with everything that was in its memory."""
    host.agent.kill()
    kill_holder(job.net, host)
    host.agent.wait()
    shutil.rmtree(job.memory(host))


@pytest.mark.parametrize("which", [0, 1])
def test_a_lost_node_is_served_by_the_other_ones_memory(two, until, undisturbed, which):
    job = Job(two, EVERY=100, STAGE=1, PAUSE=7, STAGED=1)  # nothing is on disk
    until(lambda: job.said("pauses after 7") == 2, "both pause")
    assert job.steps() == []
    lose(job, two.hosts[which])
    Path(f"{job.folder}.go").touch()
    job.start(two.hosts[which])
    assert job.end() == undisturbed
    assert job.said(f"rank {which} goes on after 7 from peer") == 1, two.logs()
    assert job.said(f"rank {1 - which} goes on after 7 from replica") == 1, two.logs()
    facts = answer("report", job.jobs)
    assert facts["attempts"][1]["restored_tier"] == "peer"
    assert facts["steps"]["replayed"] == 0
    assert job.steps()[0] < 12, "what was only in memory goes to the disk soon"


def test_nodes_that_lost_their_memory_go_on_from_the_disk(two, until, undisturbed):
    job = Job(two, PAUSE=7, WAIT=1)  # no save finds both slots busy
    until(lambda: job.said("pauses after 7") == 2, "both pause")
    until(lambda: 6 in job.steps(), "step 6 is on disk")
    for host in two.hosts:
        lose(job, host)
    Path(f"{job.folder}.go").touch()
    for host in two.hosts:
        job.start(host)
    assert job.end() == undisturbed
    assert job.said("goes on after 6 from disk") == 2, two.logs()
    assert answer("report", job.jobs)["attempts"][1]["restored_tier"] == "disk"


def test_a_killed_holder_is_not_missed(two, until, undisturbed):
    job = Job(two, PAUSE="3,5,7", SURE=1)
    for step, host in ((3, two.hosts[0]), (5, two.hosts[1]), (7, two.hosts[0])):
        until(lambda step=step: job.said(f"pauses after {step}") == 2, f"both pause after {step}")
        kill_holder(two, host)
        Path(f"{job.folder}.go-{step}").touch()
    assert job.end() == undisturbed
    assert job.steps() == [10, 11, 12]


def test_a_notice_saves_the_last_step_of_all(two, until, undisturbed):
    job = Job(two, SLOW="0.3")
    until(lambda: job.said("rank 0 step 3") == 1, "steps are made")
    leaves = two.hosts[1]
    leaves.agent.send_signal(signal.SIGTERM)
    assert leaves.wait() == 128 + signal.SIGTERM, two.logs()
    last = job.steps()[-1]
    assert job.said(rf"all ranks save and end after step {last}\b") >= 1, two.logs()
    job.start(leaves)
    assert job.end() == undisturbed
    assert job.said(f"goes on after {last} from") == 2, two.logs()
    facts = answer("report", job.jobs)
    assert facts["steps"]["replayed"] == 0


def test_a_run_that_ends_writes_what_all_have(two, until):
    """The newest step that is in memory on both nodes gets to the disk."""
    job = Job(two, EVERY=100, PAUSE=7, STAGE=1, STAGED=1)
    until(lambda: job.said("pauses after 7") == 2, "both pause")
    assert job.steps() == []
    first = two.hosts[0].agent
    first.terminate()
    until(lambda: job.said("all ranks save and end after step") == 2, "a last step is agreed on")
    first.terminate()  # asked again: no rank gets there any more
    assert [host.wait() for host in two.hosts] == [137, 137], two.logs()
    assert "no progress" not in two.logs(), "the other node was told"
    until(lambda: job.steps() == [7], "the last step is written")
    job.ckpt("verify", job.folder)


def test_without_memory_all_nodes_stream_into_one_checkpoint(two, undisturbed):
    job = Job(two, STAGING="stream")
    assert job.end() == undisturbed
    assert job.steps() == [8, 10, 12]
