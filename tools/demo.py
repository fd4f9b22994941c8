"""./dev demo: trains a small recommendation model on two ranks, kills one of them with SIGKILL in
the middle, lets `headway run` restart it, and shows where the time went.

Nothing is staged: the kill comes from outside, and the report is read from the journals that the
processes left behind. Everything happens in build/demo, which is made anew each time.
"""

import argparse
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
HEADWAY = BUILD / "headway"
FOLDER = BUILD / "demo"
JOB = "demo"
VICTIM = 1
FIRST_ATTEMPT = 1
DEADLINE_S = 900  # about one minute on two idle cores; a busy machine gets its time
PROGRESS_S = 10
# docs/formats/journal.md
HEADER_BYTES = 4096
PID_OFFSET = 44
RECORD = struct.Struct("<QqqHHI")
STEP_END = 5


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def journal(rank: int) -> Path:
    return FOLDER / "jobs" / JOB / str(FIRST_ATTEMPT) / f"rank-{rank:05d}.hwj"


def steps_trained(path: Path) -> int:
    """How many steps a journal holds, read while its rank is writing it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return 0
    body = content[HEADER_BYTES:]
    body = body[: len(body) - len(body) % RECORD.size]
    return sum(commit & 0xFF == STEP_END for *_, commit in RECORD.iter_unpack(body))


def rank_pid(path: Path) -> int:
    (pid,) = struct.unpack_from("<I", path.read_bytes(), PID_OFFSET)
    return pid


def start(arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    environment = dict(os.environ, HEADWAY_DIR=str(FOLDER / "jobs"))
    options = ["--nproc", "2", "--max-restarts", "2", "--job", JOB]
    program = os.path.relpath(HEADWAY, ROOT)
    command = [program, "run", *options, "examples/dlrm/train.py", *arguments]
    print(f"   {' '.join(command)}")
    with log.open("wb") as out:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT
        )


def fail(message: str, log: Path) -> int:
    print(log.read_text(errors="replace")[-4000:], file=sys.stderr)
    print(f"demo: {message}; the whole output is in {os.path.relpath(log)}", file=sys.stderr)
    return 1


def kill_after(run: subprocess.Popen[bytes], steps: int, deadline: float) -> str:
    """Waits for the victim to have trained `steps` steps, then kills it. Empty when it did."""
    path = journal(VICTIM)
    next_word = time.monotonic() + PROGRESS_S
    while (seen := steps_trained(path)) < steps:
        if time.monotonic() > next_word:
            next_word += PROGRESS_S
            print(f"   {seen} steps trained" if seen else "   starting, compiling", flush=True)
        if run.poll() is not None:
            return f"the run ended by itself with code {run.returncode} after {seen} steps"
        if time.monotonic() > deadline:
            return f"only {seen} steps were trained in {DEADLINE_S} s"
        time.sleep(0.05)
    pid = rank_pid(path)
    say(f"rank {VICTIM} has trained {seen} steps: kill -9 {pid}")
    os.kill(pid, signal.SIGKILL)
    return ""


def train(args: argparse.Namespace, log: Path) -> str:
    """Runs the job to its end with one kill on the way. Empty when all went as meant."""
    deadline = time.monotonic() + DEADLINE_S
    trainer = ["--steps", str(args.steps), "--save-every", str(args.save_every)]
    run = start([*trainer, "--checkpoint", os.path.relpath(FOLDER / "dlrm.pt", ROOT)], log)
    try:
        if problem := kill_after(run, args.kill_after, deadline):
            return problem
        print("   headway sees the death, stops the other rank and starts both again")
        run.wait(timeout=max(1.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return f"the run did not end within {DEADLINE_S} s"
    finally:
        if run.poll() is None:
            run.terminate()
            run.wait()
    return f"the run ended with code {run.returncode}" if run.returncode != 0 else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description="Train, kill, report.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--kill-after", type=int, default=250, metavar="STEPS")
    args = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    log = FOLDER / "run.log"

    say("training a small recommendation model, two ranks, compiled, a checkpoint now and then")
    if problem := train(args, log):
        return fail(problem, log)

    say("what became of the time")
    print(
        "   ETT% is the share of wall time that trained on new data. Every other nanosecond is\n"
        "   in one bucket below. After the kill, look for `down` (until the ranks were started\n"
        "   again) and `replay` (steps since the last checkpoint, trained a second time).\n",
        flush=True,
    )
    environment = dict(os.environ, HEADWAY_DIR=str(FOLDER / "jobs"))
    report = subprocess.run([HEADWAY, "report", JOB], env=environment)
    if report.returncode != 0:
        return fail(f"the report failed with code {report.returncode}", log)
    say("your own script:  build/headway run train.py && build/headway report")
    print(f"   the output of the ranks is in {os.path.relpath(log)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
