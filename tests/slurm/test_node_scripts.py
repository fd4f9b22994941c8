"""deploy/slurm's prolog and epilog, run by a real slurmd."""

from __future__ import annotations

import fcntl
import os

from cluster import wait_until

PRINTS_FACTS = """
import os
print(open("{folder}/job-" + os.environ["SLURM_JOB_ID"] + ".facts").read())
"""


def test_leftovers_go_and_what_is_held_stays(cluster, runner):
    shared = cluster.folder / "shm"
    for name in ("headway-old", "headway-held", "headway-file-held", "other"):
        (shared / name).mkdir()
    (shared / "headway-link").symlink_to(shared / "other")
    lock = shared / "headway-file-held" / "lock"
    with (shared / "headway-held" / "replica").open("w"), lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        folder = os.open(shared / "headway-held", os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        job = runner.submit(runner.script(PRINTS_FACTS.format(folder=cluster.folder / "facts")))
        assert job.wait_over() == "COMPLETED"
        left = sorted(path.name for path in shared.iterdir())
        assert left == ["headway-file-held", "headway-held", "headway-link", "other"]
        os.close(folder)
    for fact in ("host=", "boot_id=", "memory_available_kib=", "shm_free_kib="):
        assert fact in job.printed()
    wait_until(lambda: not list((cluster.folder / "facts").iterdir()), "the epilog took the notes")
    runner.submit(runner.script("pass")).wait_over()
    left = sorted(path.name for path in shared.iterdir())
    assert left == ["headway-link", "other"], "nobody holds them any more"
