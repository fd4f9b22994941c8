"""How long a job stands still when a rank dies, and what its agent costs meanwhile.

    python bench/bench_recover.py [--quick]

`ttr_process_ms`: SIGKILL of rank 1 of two to the next new step, state restored; peer: torchrun on
the same script, taking turns. `ttr_process_2gib_ms`: the same with 2 GiB of embedding tables on
each rank, killed behind a save; ours saves by hw.checkpointer, the peer by torch.save.
`torchrun_default_recovered`: how many of its recoveries torchrun makes within a minute without
TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, which the peer above is given. `tts_import_ms`: a rank's
process from its start to the first line behind the script's imports, warm and cold.
`agent_idle_cpu_pct`: processor time of the agent with 64 ranks that take ten steps a second. Prints
JSON lines; progress goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = os.environ.get("HEADWAY_BIN", str(ROOT / "build" / "headway"))
SCRIPT = str(ROOT / "bench" / "recover" / "train.py")
LARGE = str(ROOT / "bench" / "recover" / "large.py")
MANY = str(ROOT / "bench" / "recover" / "many.py")
STEPS_BEFORE = 40
WAIT_MAX_S = 60.0
FRESH_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def row(name: str, unit: str, ours: float, peer: float | None, peer_name: str | None) -> None:
    line = {"name": name, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name}
    print(json.dumps(line | {"better": "lower"}), flush=True)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def rows_of(path: Path) -> list[list[int]]:
    try:
        lines = path.read_text().splitlines(keepends=True)
    except OSError:
        return []
    return [list(map(int, line.split())) for line in lines if line.endswith("\n")]


class Recovery:
    """One job, one kill. `ms` is None where the job did not train again in time."""

    def __init__(
        self, command: list[str], env: dict[str, str] | None = None, script: str = SCRIPT
    ) -> None:
        self.large = script == LARGE
        self.ms: float | None = None
        self.lives = 0
        self.imported_ns = 0
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            self.folder = Path(folder)
            self.jobs = self.folder / "jobs"
            settings = dict(os.environ, HEADWAY_DIR=str(self.jobs), **(env or {}))
            with open(self.folder / "log", "w") as log:
                process = subprocess.Popen(
                    [*command, script, folder], env=settings, stdout=log, stderr=log
                )
                try:
                    self._run()
                finally:
                    (self.folder / "stop").touch()
                    try:
                        process.wait(timeout=20)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        process.wait()
                    subprocess.run(["pkill", "-9", "-f", folder], check=False)

    def _wait(self, done) -> bool:
        until = time.monotonic() + WAIT_MAX_S
        while not done():
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        return True

    def _run(self) -> None:
        diary, saved = self.folder / "diary", self.folder / "saved"
        if not self._wait(lambda: len(rows_of(diary)) >= STEPS_BEFORE):
            raise SystemExit("the job never trained:\n" + (self.folder / "log").read_text())
        time.sleep(4.0)  # the fork server has learnt, torchrun has settled
        if self.large:
            # Nobody is to repeat steps that were not saved: that is another question.
            count = len(rows_of(saved))
            self._wait(lambda: len(rows_of(saved)) > count)
        pid = rows_of(self.folder / "pids-1")[-1][0]
        killed_ns = time.monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        high = max(step for step, _ in rows_of(diary))
        if self._wait(lambda: rows_of(diary)[-1][0] > high + 2):
            self.ms = next(t - killed_ns for step, t in rows_of(diary) if step > high + 1) / 1e6
        self.lives = len(rows_of(self.folder / "pids-1"))
        self.imported_ns = rows_of(self.folder / "pids-1")[-1][1]
        self.started_ns = self._start_of_second_life()

    def _start_of_second_life(self) -> int:
        """When rank 1's second process began, by its journal."""
        journals = sorted(self.jobs.glob("*/2/rank-00001.hwj"))
        if not journals:
            return 0
        from headway import _core

        rows = _core.read_journal(str(journals[0]))
        return next((r[0] for r in rows if r[2] == "mark" and r[3] == "trainer_start"), 0)


def ours(*options: str) -> list[str]:
    common = ["--nproc", "2", "--max-restarts", "20", "-q", "--python", sys.executable]
    return [BIN, "run", *common, *options]


def recoveries(repeats: int) -> None:
    warm: list[Recovery] = []
    cold: list[Recovery] = []
    peer: list[Recovery] = []
    for turn in range(repeats):
        warm.append(Recovery(ours()))
        peer.append(Recovery([*TORCHRUN, "--max-restarts", "20"], FRESH_STORE))
        cold.append(Recovery(ours("--cold")))
        figures = [f"{r.ms:.0f}" if r.ms else "none" for r in (warm[-1], peer[-1], cold[-1])]
        say(
            f"  recovery {turn + 1}: warm {figures[0]}, torchrun {figures[1]}, cold {figures[2]} ms"
        )
    medians = [statistics.median(r.ms or WAIT_MAX_S * 1e3 for r in rs) for rs in (warm, peer, cold)]
    row("ttr_process_ms", "ms", medians[0], medians[1], "torchrun --standalone, fresh store")
    row("ttr_process_cold_ms", "ms", medians[2], medians[1], "torchrun --standalone, fresh store")
    imports = [
        statistics.median((r.imported_ns - r.started_ns) / 1e6 for r in rs if r.started_ns)
        for rs in (warm, cold)
    ]
    row("tts_import_ms", "ms", imports[0], imports[1], "headway run --cold")


def large_recoveries(repeats: int, gib: float) -> None:
    size = {"LARGE_GIB": str(gib)}
    mine: list[float] = []
    theirs: list[float] = []
    for turn in range(repeats):
        found = Recovery(ours(), {"SAVE_BY": "headway", **size}, LARGE)
        mine.append(found.ms or WAIT_MAX_S * 1e3)
        peer = Recovery([*TORCHRUN, "--max-restarts", "20"], {**FRESH_STORE, **size}, LARGE)
        theirs.append(peer.ms or WAIT_MAX_S * 1e3)
        say(f"  recovery with {gib:g} GiB {turn + 1}: {mine[-1]:.0f}, torchrun {theirs[-1]:.0f} ms")
    peer_name = "torchrun --standalone, torch.save and torch.load"
    row("ttr_process_2gib_ms", "ms", statistics.median(mine), statistics.median(theirs), peer_name)


def default_torchrun(repeats: int) -> None:
    recovered, lives = 0, 0
    for turn in range(repeats):
        found = Recovery([*TORCHRUN, "--max-restarts", "20"])
        recovered += found.ms is not None
        lives += found.lives
        say(f"  torchrun as it comes {turn + 1}: {found.ms or 'not within a minute'}")
    line = {"name": "torchrun_default_recovered", "unit": f"of {repeats}", "ours": repeats}
    print(json.dumps(line | {"peer": recovered, "peer_name": "torchrun --standalone as it comes"}
                     | {"better": "higher"}), flush=True)  # fmt: skip


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, HEADWAY_DIR=folder)
        command = [BIN, "run", "--nproc", "64", "--job", "many", "--python", sys.executable, MANY]
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until = time.monotonic() + WAIT_MAX_S
            while len(list(Path(folder).glob("many/1/rank-*.hwj"))) < 64:
                if time.monotonic() > until:
                    raise SystemExit("64 ranks never came")
                time.sleep(0.1)
            time.sleep(3)
            begin, before = time.monotonic(), cpu_seconds(process.pid)
            time.sleep(seconds)
            used = (cpu_seconds(process.pid) - before) / (time.monotonic() - begin)
        finally:
            process.terminate()
            process.wait()
    row("agent_idle_cpu_pct", "%", 100 * used, None, None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    recoveries(1 if quick else 5)
    large_recoveries(1 if quick else 3, 0.25 if quick else 2.0)
    default_torchrun(1 if quick else 3)
    idle(5 if quick else 30)


if __name__ == "__main__":
    main()
