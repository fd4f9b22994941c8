"""`headway why` as a process: logs, jobs, rules of one's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))
RULE = """
[[rule]]
id = "mine.flux"
category = "flux_capacitor"
role = "cause"
origin = "infra"
retryable = true
confidence = 0.9
priority = 99
where = ["log"]
pattern = 'flux below \\d+'
next = "Replace the capacitor."
"""


def headway(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HEADWAY_")}
    environment["HEADWAY_DIR"] = str(folder / "jobs")
    command = [str(HEADWAY), *arguments]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_a_log_of_a_job_that_never_ran_here(tmp_path: Path) -> None:
    (tmp_path / "slurm.out").write_text(
        "[0] step 10 loss 1.0\n[1] step 10 loss 1.0\n"
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        "[rank0]: RuntimeError: Connection closed by peer [10.0.0.2]:5000\n"
    )
    done = headway("why", "--log", "slurm.out", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["category"], verdict["rank"]) == ("gpu_oom", 1)
    assert (verdict["role"], verdict["origin"], verdict["retryable"]) == ("cause", "user", False)
    assert "CUDA out of memory" in verdict["proof"]
    text = headway("why", "--log", "slurm.out", folder=tmp_path).stdout
    assert text.startswith("slurm.out: gpu_oom\n") and "\x1b" not in text


def test_a_job(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import no_such_module_anywhere\n")
    run = headway("run", "--job", "j", "--python", sys.executable, "train.py", folder=tmp_path)
    assert run.returncode == 1
    verdict = json.loads(headway("why", "j", "--json", folder=tmp_path).stdout)
    assert (verdict["category"], verdict["rank"]) == ("import_error", 0)
    assert verdict["about"] == "job j, attempt 1"
    (tmp_path / "fine.py").write_text("pass\n")
    headway("run", "--job", "fine", "--python", sys.executable, "fine.py", folder=tmp_path)
    assert "it did not fail" in headway("why", "fine", folder=tmp_path).stdout


def test_all_ranks_are_heard_and_the_last_lines_shown(tmp_path: Path) -> None:
    # Rank 0 ends first, but only because of rank 1, which says why and stays.
    (tmp_path / "train.py").write_text(
        "import os, sys, time\n"
        "rank = int(os.environ['RANK'])\n"
        "for i in range(40): print('line', i)\n"
        "if rank == 0:\n"
        "    while not os.path.exists('said'): time.sleep(0.01)\n"
        "    print('RuntimeError: Connection closed by peer [10.0.0.2]:5000', file=sys.stderr)\n"
        "    sys.exit(1)\n"
        "print('db_password=' + 'fake', flush=True)\n"
        "print('OSError: [Errno 28] No space left on device', file=sys.stderr, flush=True)\n"
        "open('said', 'w').close()\n"
        "time.sleep(60)\n"
    )
    run = headway(
        *["run", "--job", "j", "--nproc", "2", "--python", sys.executable, "train.py"],
        folder=tmp_path,
    )
    assert run.returncode != 0, run.stderr
    verdict = json.loads(headway("why", "j", "--json", folder=tmp_path).stdout)
    assert (verdict["category"], verdict["rank"]) == ("disk_full", 1)
    tail = verdict["tail"]
    assert len(tail["lines"]) == 12 and tail["cut_lines"] == 30 and tail["cut_bytes"] > 100
    assert "db_password=[redacted:password]" in tail["lines"]
    text = headway("why", "j", folder=tmp_path).stdout
    assert "the last it wrote; 30 lines" in text and "    line 39\n" in text
    assert "=fake" not in text + json.dumps(verdict)


def test_a_full_folder_of_checkpoints_is_as_full_for_another_node(tmp_path: Path) -> None:
    full = "No space left on device"
    for said, elsewhere in [
        (f"OSError: [Errno 28] {full}", True),
        (f"CheckpointError: checkpointer: c: step 4 is not on disk: c/x: write: {full}", False),
    ]:
        (tmp_path / "a.log").write_text(f"{said}\n")
        verdict = json.loads(headway("why", "--log", "a.log", "--json", folder=tmp_path).stdout)
        assert (verdict["category"], verdict["elsewhere"]) == ("disk_full", elsewhere), said
    assert "ckpt prune" in verdict["next"]


def test_secrets_of_a_log_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "ValueError: bad header Authorization: Bearer fake0fake1fake2\n"
    )
    for options in ([], ["--json"]):
        done = headway("why", "--log", "a.log", *options, folder=tmp_path)
        assert "fake0" not in done.stdout and "Bearer [redacted:authorization]" in done.stdout


def test_rules_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("flux below 88\n")
    (tmp_path / "mine.toml").write_text(RULE)
    assert "unknown" in headway("why", "--log", "a.log", folder=tmp_path).stdout
    done = headway("why", "--log", "a.log", "--rules", "mine.toml", folder=tmp_path)
    assert "a.log: flux_capacitor" in done.stdout and "Replace the capacitor." in done.stdout
    (tmp_path / "mine.toml").write_text(RULE.replace('"cause"', '"guess"'))
    done = headway("why", "--log", "a.log", "--rules", "mine.toml", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("headway: mine.toml:2: rule mine.flux: role must be")


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    for arguments in (["--log", "none.log"], ["nojob"], ["j", "--log", "x"], [""], []):
        done = headway("why", *arguments, folder=tmp_path)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
