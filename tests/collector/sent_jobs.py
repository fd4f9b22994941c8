"""Jobs that record, senders that send, and what the job's own machine says of it."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from collecting import HEADWAY
from small_jobs import environment, report

SCRIPT = """
import os, sys, time
import headway as hw
hw.init()
crash = "--crash" in sys.argv and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
state = {"step": 0}
end = time.monotonic() + float(sys.argv[1])
def batches():
    while time.monotonic() < end:
        yield 0
for _ in hw.steps(batches(), state):
    time.sleep(0.002)
    if crash and state["step"] == 40 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), 9)
"""


class Job:
    """Runs for so long, with a sender beside it."""

    def __init__(self, folder: Path, name: str, to: str, seconds: float, *words: str) -> None:
        self.name, self.folder = name, folder
        self.environment = environment(folder)
        script = folder / f"{name}.py"  # its own: a rank of another job may just be reading it
        script.write_text(SCRIPT)
        run = [HEADWAY, "run", "--nproc", "2", "--max-restarts", "2", "--job", name]
        self.run = self._start(*run, str(script), str(seconds), *words)
        self.journals = folder / "jobs" / name
        while not list(self.journals.glob("*/rank-*.hwj")):
            assert self.run.poll() is None, self.run.communicate()
            time.sleep(0.02)
        self.ship = self._start(
            HEADWAY, "ship", name, "--to", to, "--follow", "--json", "--wait", "5m"
        )

    def _start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finish(self) -> None:
        output = self.run.communicate(timeout=300)
        assert self.run.returncode == 0, output
        for attempt in self.journals.iterdir():
            found = sorted(each.name for each in attempt.glob("rank-*.hwj"))
            logs = [each.read_text() for each in attempt.glob("rank-*.log")]
            assert found == ["rank-00000.hwj", "rank-00001.hwj"] or not attempt.is_dir(), logs
        sent, errors = self.ship.communicate(timeout=300)
        assert json.loads(sent)["complete"], (sent, errors)

    def report(self) -> dict[str, Any]:
        return report(self.folder, self.name)
