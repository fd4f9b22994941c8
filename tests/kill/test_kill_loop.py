"""Whatever is killed, whenever: the job ends with the same weights as one that nobody disturbed,
and every step was trained once, or more often only where the report says so.

20 kills in the everyday run, 200 with HEADWAY_TEST_FULL. HEADWAY_TEST_SEED repeats a run.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from marked_processes import proc_file

ROOT = Path(__file__).parents[2]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))
SCRIPT = str(Path(__file__).with_name("train.py"))
KILLS = 200 if os.environ.get("HEADWAY_TEST_FULL") else 20
KILLS_A_JOB = 20
STEPS = 500
WAIT_MAX_S = 120.0
FRUITLESS_MAX = 2  # the agent itself gives up after three failures without a new step


class Job:
    def __init__(self, folder: Path, disturbed: bool) -> None:
        self.folder = folder
        folder.mkdir()
        self.process: subprocess.Popen[str] | None = None
        self.output: list[str] = []
        self.starts = 0
        self.command = [
            *(
                BIN,
                "run",
                "--job",
                "j",
                "--dir",
                "jobs",
                "--nproc",
                "2",
                "--python",
                sys.executable,
            ),
            *(("--max-restarts", "10000") if disturbed else ()),
            *(SCRIPT, "--steps", str(STEPS), "--save-every", "25", "--checkpoint", "ck.pt"),
        ]

    def start(self) -> None:
        self.starts += 1
        log = open(self.folder / f"log-{self.starts}", "w")  # noqa: SIM115
        self.process = subprocess.Popen(
            self.command, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT
        )

    def log(self) -> str:
        return "".join((self.folder / f"log-{n + 1}").read_text() for n in range(self.starts))

    def now(self, rank: int) -> tuple[int, str]:
        """(process, what it does) as the rank said last."""
        try:
            pid, phase = (self.folder / f"now-{rank}").read_text().split()
            return int(pid), phase
        except (OSError, ValueError):
            return 0, ""

    def steps(self) -> int:
        try:
            return len(set((self.folder / "diary-0").read_text().splitlines()))
        except OSError:
            return 0

    def high(self) -> int:
        """The highest step that rank 0 has ever trained."""
        try:
            lines = (self.folder / "diary-0").read_text().splitlines()
        except OSError:
            return 0
        return max((int(line.split()[1]) for line in lines), default=0)

    def over(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def server(self) -> int:
        """The fork server's process."""
        assert self.process is not None
        children = proc_file(self.process.pid, f"task/{self.process.pid}/children")
        for pid in map(int, children.split()):
            if proc_file(pid, "comm") == b"headway-warm\n":
                return pid
        return 0


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return pid > 0


def wait_for(job: Job, condition, what: str) -> bool:
    """False: the job is over first."""
    deadline = time.monotonic() + WAIT_MAX_S
    while not condition():
        if job.over():
            return False
        assert time.monotonic() < deadline, f"{what}: never came\n{job.log()[-3000:]}"
        time.sleep(0.0005)
    return True


def kill_one(job: Job, chance: random.Random, may_kill_start: bool, at_end: bool) -> str:
    """Waits for a moment of chance, kills, and says what; '' when the job was over first."""
    assert job.process is not None
    phases = ["step", "step", "save"] + (["start"] if may_kill_start else [])
    phase = chance.choice(phases)
    if at_end or (job.high() > STEPS * 2 // 3 and chance.random() < 0.5):
        phase = "end"
    victim = chance.choice(["rank", "rank", "rank", "agent", "server"])
    rank = chance.randrange(2) if phase != "save" else 0
    high = job.high()
    if phase != "start":
        # Two: the agent knows of a step when the next one has begun.
        ok = wait_for(job, lambda: job.high() > high + 1 or job.now(0)[1] == "end", "new steps")
        if not ok:
            return ""
        for _ in range(chance.randrange(30)):
            time.sleep(0.001)
    else:
        pid = job.now(rank)[0]
        wait_for(job, lambda: job.now(rank)[0] != pid or alive(pid), "a start")

    def there() -> bool:
        pid, doing = job.now(rank)
        return doing == phase and alive(pid)

    if not wait_for(job, there, f"rank {rank} in {phase}"):
        return ""
    time.sleep(chance.random() * 0.004)
    pid = {"rank": job.now(rank)[0], "agent": job.process.pid, "server": job.server()}[victim]
    if not alive(pid):
        return "nobody"
    os.kill(pid, signal.SIGKILL)
    return f"{victim} {rank} in {phase}"


def final_weights(job: Job) -> str:
    found = re.findall(r"weights sum to (\S+)", job.log())
    assert found, job.log()[-3000:]
    return found[-1]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> str:
    job = Job(tmp_path_factory.mktemp("kill") / "calm", disturbed=False)
    job.start()
    assert job.process is not None
    assert job.process.wait(timeout=600) == 0, job.log()
    return final_weights(job)


def hunt(job: Job, chance: random.Random, kills_max: int) -> Counter[str]:
    """Kills until the job is over, or until it was enough; then the job may finish."""
    killed: Counter[str] = Counter()
    fruitless, high, starts = 0, 0, True
    job.start()
    while killed.total() < kills_max and not job.over():
        at_end = killed.total() == kills_max - 1  # each job's last kill
        what = kill_one(job, chance, starts and fruitless < FRUITLESS_MAX, at_end)
        if what in ("", "nobody"):
            continue
        starts = not what.startswith("server")  # the ranks live on without it
        killed[what] += 1
        progressed = job.high() > high + 1
        high = max(high, job.high())
        fruitless = 0 if progressed else fruitless + 1
        if what.startswith("agent"):
            assert job.process is not None
            job.process.wait(timeout=60)
            fruitless = 0  # a new agent counts anew
            job.start()
    return killed


def test_kills_at_any_moment_change_nothing(tmp_path, undisturbed, capsys):
    seed = int(os.environ.get("HEADWAY_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
    chance = random.Random(seed)
    killed: Counter[str] = Counter()
    jobs = 0
    while killed.total() < KILLS:
        jobs += 1
        assert jobs <= KILLS, f"seed {seed}: jobs end before they can be killed: {killed}"
        job = Job(tmp_path / f"hunted-{jobs}", disturbed=True)
        here = hunt(job, chance, min(KILLS_A_JOB, KILLS - killed.total()))
        killed += here
        assert job.process is not None
        code = job.process.wait(timeout=600)
        where = f"seed {seed}, job {jobs}, {dict(here)}"
        assert code == 0, f"{where}\n{job.log()[-3000:]}"
        assert final_weights(job) == undisturbed, where
        check_steps(job, where, here.total())
        with capsys.disabled():
            print(f"\nkill loop: {where}", end="")
    with capsys.disabled():
        victims = Counter(re.sub(r" \d in ", " in ", what) for what in killed.elements())
        print(f"\nkill loop: seed {seed}, {killed.total()} kills in {jobs} jobs: {dict(victims)}")


def check_steps(job: Job, where: str, kills: int) -> None:
    """Every step was trained, and again only as often as the report says."""
    by_both = [
        Counter(
            tuple(map(int, line.split()))
            for line in (job.folder / f"diary-{rank}").read_text().splitlines()
        )
        for rank in (0, 1)
    ]
    assert all(count == 1 for diary in by_both for count in diary.values()), where
    done = Counter(step for _attempt, step in by_both[0].keys() & by_both[1].keys())
    assert set(done) >= set(range(1, STEPS)), where
    trained_again = sum(count - 1 for count in done.values())
    report = subprocess.run(
        [BIN, "report", "j", "--dir", "jobs", "--json"],
        cwd=job.folder,
        capture_output=True,
        check=True,
    )
    replayed = json.loads(report.stdout)["steps"]["replayed"]
    # A rank may be killed between its step and its diary.
    assert abs(replayed - trained_again) <= kills, f"{where}: {replayed} and {trained_again}"
