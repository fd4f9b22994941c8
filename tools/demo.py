"""./dev demo: the same small recommendation model trained twice under the same faults, by torchrun
with torch.save and by Headway with hw.checkpointer, and where the time of both went.

Nothing is staged: ranks are killed from outside, the numbers are read from the journals that the
processes left behind, and the table is `headway report --against`. A third run, which nobody
disturbs, goes first: it says what the weights have to be in the end, and fills the compiler's cache
for all. Everything happens in build/demo, which is made anew each time.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from demo_faults import Fault, Watch

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
HEADWAY = BUILD / "headway"
FOLDER = BUILD / "demo"
JOBS = FOLDER / "jobs"
CACHE = BUILD / "demo-compile-cache"  # stays from demo to demo
EXAMPLE = ROOT / "examples/dlrm"
RANKS = 2
RESTARTS = 3
DEADLINE_S = 600  # for each run; some 30 s on two idle cores
PROGRESS_S = 3.0
POLL_S = 0.004  # far less than a step


class DemoError(Exception):
    """One line for a person."""


@dataclass
class Run:
    job: str
    what: str
    script: str
    torchrun: bool = False
    faults: list[Fault] = field(default_factory=list)

    @property
    def checkpoint(self) -> Path:
        return FOLDER / f"{self.job}-checkpoint"

    @property
    def log(self) -> Path:
        return FOLDER / f"{self.job}.log"

    def command(self, args: argparse.Namespace) -> list[str]:
        script = [here(EXAMPLE / self.script), "--steps", str(args.steps)]
        script += ["--save-every", str(args.save_every), "--checkpoint", here(self.checkpoint)]
        script += ["--no-compile"] if args.no_compile else []
        run = [here(HEADWAY), "run", "--job", self.job]
        if not self.torchrun:
            return [*run, "--nproc", str(RANKS), "--max-restarts", str(RESTARTS), *script]
        # That is torchrun. The script of this name may start with another interpreter's path, and
        # then nothing is found in the compiler's cache.
        torchrun = [here(Path(sys.executable)), "-m", "torch.distributed.run", "--standalone"]
        torchrun += ["--nproc-per-node", str(RANKS), "--max-restarts", str(RESTARTS)]
        return [*run, "--", *torchrun, *script]


def here(path: Path) -> str:
    """As a person in the repository's folder would type it."""
    return os.path.relpath(path, ROOT) if path.is_relative_to(ROOT) else str(path)


def environment() -> dict[str, str]:
    return dict(
        os.environ,
        HEADWAY_CACHE="local",  # no archives: both sides have what the first run compiled
        HEADWAY_DIR=str(JOBS),
        VIRTUAL_ENV=sys.prefix,  # whose torch the jobs use
        TORCHINDUCTOR_CACHE_DIR=str(CACHE),
        # Without it torchrun's restarts fail with gloo (docs/run.md). Headway does not need it.
        TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1",
    )


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def painted(text: str, code: int) -> str:
    colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return f"\x1b[{code}m{text}\x1b[0m" if colored else text


def show_difference(first: Path, second: Path) -> None:
    """The code of two scripts, what they say of themselves left out."""

    def code(path: Path) -> list[str]:
        return path.read_text().split('"""\n', 2)[1].splitlines()

    for line in list(difflib.unified_diff(code(first), code(second), n=0, lineterm=""))[2:]:
        if not line.startswith("@@") and line[1:].strip():
            print("   " + painted(line, 32 if line[0] == "+" else 31))


def follow(process: subprocess.Popen[bytes], run: Run, steps: int) -> None:
    """To its end, with its faults on the way and a word every few seconds."""
    watch = Watch(JOBS / run.job, RANKS, run.faults)
    begin = last_word = time.monotonic()

    def word(text: str) -> None:
        nonlocal last_word
        last_word = time.monotonic()
        print(f"   {last_word - begin:5.1f} s  {text}", flush=True)

    while process.poll() is None:
        time.sleep(POLL_S)
        if (fault := watch.look()) is not None:
            word(painted(str(fault), 31))
        if time.monotonic() > last_word + PROGRESS_S:
            doing = f"step {watch.step} of {steps}" if watch.step else "getting ready"
            word(f"attempt {max(1, watch.attempt)}: {doing}")
        if time.monotonic() > begin + DEADLINE_S:
            raise DemoError(f"{run.job}: it did not end within {DEADLINE_S} s")
    if process.returncode != 0:
        raise DemoError(f"{run.job}: it ended with code {process.returncode}")
    if watch.due:
        raise DemoError(f"{run.job}: it was over before the {watch.due[0]}")
    word("finished")


def train(run: Run, args: argparse.Namespace) -> str:
    """The digest of its weights in the end."""
    say(run.what)
    print(f"   {shlex.join(run.command(args))}", flush=True)
    with run.log.open("wb") as out:
        process = subprocess.Popen(
            run.command(args),
            cwd=ROOT,
            env=environment(),
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    try:
        follow(process, run, args.steps)
    except DemoError as error:
        tail = "".join(f"   | {line}\n" for line in log_lines(run)[-15:])
        raise DemoError(f"{error}; its output, all of it in {here(run.log)}:\n{tail}") from None
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    digests = re.findall(r"weights ([0-9a-f]+)", "\n".join(log_lines(run)))
    if not digests:
        raise DemoError(f"{run.job}: no digest of the weights in {here(run.log)}")
    return digests[-1]


def log_lines(run: Run) -> list[str]:
    return run.log.read_text(errors="replace").splitlines()


def ask(*command: str | Path, show: bool = False) -> str:
    done = subprocess.run(
        [HEADWAY, *command], env=environment(), stdout=None if show else subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise DemoError(f"headway {command[0]} ended with code {done.returncode}")
    return done.stdout or ""


def check(ours: Run, theirs: Run, digests: dict[str, str]) -> None:
    """Were the faults what they were meant to be, and is what was learned the same?"""
    told = json.loads(ask("report", ours.job, "--against", theirs.job, "--json"))
    counts = told["numbers"]["interruptions"]
    for run, side in ((ours, "job"), (theirs, "against")):
        if counts[side] != len(run.faults):
            raise DemoError(
                f"{run.job}: {len(run.faults)} faults, and {counts[side]} interruptions in its "
                f"record: `{here(HEADWAY)} report {run.job} --dir {here(JOBS)}` tells more"
            )
    if len(set(digests.values())) != 1:
        each = ", ".join(f"{job} {digest}" for job, digest in digests.items())
        raise DemoError(f"the weights are not the same in the end: {each}")
    print(f"\n   Final weights: sha256 {next(iter(digests.values()))}… after all three runs,")
    print("   disturbed or not: no fault changed what was learned, only how long it took.")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo", description="Train, kill, compare.")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save-every", type=int, default=100, metavar="STEPS")
    parser.add_argument("--kill-rank-after", type=int, default=155, metavar="STEP")
    parser.add_argument("--kill-all-after", type=int, default=275, metavar="STEP")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    args = parser.parse_args()
    if not 0 < args.kill_rank_after < args.kill_all_after < args.steps:
        parser.error("a rank is killed first, then all, both before the last step")
    return args


def demo(args: argparse.Namespace) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    faults = [Fault(args.kill_rank_after, (1,)), Fault(args.kill_all_after, tuple(range(RANKS)))]
    calm = Run("undisturbed", "1 of 3: nobody disturbs it", "train.py")
    theirs = Run("torchrun", "2 of 3: torchrun and torch.save", "train.py", True, faults)
    ours = Run(
        "headway", "3 of 3: headway run and hw.checkpointer", "train_headway.py", False, faults
    )

    say("A recommendation model, two ranks, trained twice under the same faults:")
    for fault in faults:
        print(f"   {fault}")
    print(f"   The whole difference between {here(EXAMPLE / theirs.script)} and {ours.script}:\n")
    show_difference(EXAMPLE / theirs.script, EXAMPLE / ours.script)
    digests = {run.job: train(run, args) for run in (calm, theirs, ours)}

    say(f"{here(HEADWAY)} report {ours.job} --against {theirs.job} --dir {here(JOBS)}\n")
    ask("report", ours.job, "--against", theirs.job, show=True)
    check(ours, theirs, digests)
    say("Look further")
    print(f"   {here(HEADWAY)} report {ours.job} --dir {here(JOBS)}    # one job, and what to do")
    print(f"   {here(HEADWAY)} ckpt ls {here(ours.checkpoint)}    # its checkpoints on the disk")
    print(f"   {here(HEADWAY)} run train.py && {here(HEADWAY)} report    # your own script")


def main() -> int:
    args = arguments()
    try:
        demo(args)
    except DemoError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndemo: stopped; no process of it is left", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the run that is under way ends too
    sys.exit(main())
