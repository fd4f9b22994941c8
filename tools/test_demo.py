"""The demo reads journals with a few lines of its own: they must agree with the recorder."""

import os
import subprocess
import sys
from pathlib import Path

import demo

RECORD = """
import headway as hw
assert hw.init("j", dir=".", attempt=1)
for item in hw.steps(range(7)):
    with hw.phase("work"):
        pass
import os
print(os.getpid())
"""


def test_steps_and_pid_are_read_from_a_real_journal(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HEADWAY_")}
    done = subprocess.run(
        [sys.executable, "-c", RECORD],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    journal = tmp_path / "j/1/rank-00000.hwj"
    assert demo.steps_trained(journal) == 7
    assert demo.rank_pid(journal) == int(done.stdout)


def test_a_journal_that_is_not_there_yet_has_no_steps(tmp_path: Path) -> None:
    assert demo.steps_trained(tmp_path / "none.hwj") == 0
