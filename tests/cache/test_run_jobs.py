"""Jobs of `headway run` that share compile caches while they run: two at once, one that goes on,
and one on a host where no compiler is to run."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from test_run_cache import Fleet, assert_cold, assert_warm, pytestmark

__all__ = ["pytestmark"]

WAIT_MAX_S = 300.0


@pytest.mark.parametrize("one_directory", [False, True])
def test_two_jobs_at_once(tmp_path: Path, one_directory: bool) -> None:
    """Both have looked at an empty shelf when they begin to compile, each something else."""
    fleet = Fleet(tmp_path)
    more = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")} if one_directory else {}
    meet = [tmp_path / "one", tmp_path / "other"]
    jobs = []
    for sizes, (own, other) in (("4,4", meet), ("6,6", reversed(meet))):
        host = fleet.host()
        script = f"--sizes {sizes} --meet {own} {other}"
        jobs.append((fleet.start(host=host, script=script, **more), host))
    losses = []
    try:
        for job, host in jobs:
            done = fleet.end(job, host)
            assert_cold(done)
            assert done.cache["pulled_files"] == 0
            losses.append(done.out[0]["losses"])
    finally:
        for job, _ in jobs:
            job.kill()
    assert losses[0] != losses[1]
    archives = fleet.archives()
    # From one directory each may take what both have made: that is one archive, by its name.
    assert len(archives) == 2 or (one_directory and len(archives) == 1)
    # One directory of both, on a host that has seen neither.
    third = fleet.host()
    for number, sizes in enumerate(("4,4", "6,6")):
        done = fleet.run(host=third, script=f"--sizes {sizes}")
        assert_warm(done)
        assert done.out[0]["losses"] == losses[number]
        shutil.rmtree(third / "jobs")
    assert fleet.archives() == archives


def test_what_is_compiled_is_shared_while_the_job_goes_on(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    host, enough = fleet.host(), tmp_path / "enough"
    job = fleet.start(host=host, script=f"--until {enough}")
    try:
        deadline = time.monotonic() + WAIT_MAX_S
        while not fleet.archives():
            assert job.poll() is None, job.communicate()[1]
            assert time.monotonic() < deadline, "nothing is shared while the job goes on"
            time.sleep(0.1)
        # Another host has it before this one is done.
        meanwhile = fleet.run()
        assert job.poll() is None and not (host / "out.0.json").exists()
        enough.touch()
        done = fleet.end(job, host)
    finally:
        job.kill()
    assert_cold(done)
    assert_warm(meanwhile)
    assert meanwhile.out[0]["losses"] == done.out[0]["losses"]
    # At the end there is nothing to add.
    assert len(fleet.archives()) == 1 and done.said.count("pushed") == 1


def compiler_spy(folder: Path, calls: Path) -> Path:
    """The folder of a g++ that tells what sources it is given."""
    real = shutil.which("g++")
    spy = folder / "g++"
    spy.parent.mkdir()
    spy.write_text(
        f"""#!/bin/sh
for word; do
  case "$word" in *.cpp | *.cc | *.c | *.h) echo "$word" >> {calls} ;; esac
done
exec {real} "$@"
"""
    )
    spy.chmod(0o755)
    return folder


def test_on_a_warm_host_no_compiler_runs(tmp_path: Path) -> None:
    """With torch's precompiled header, as it is by itself: neither a kernel, nor the question which
    instructions there are, nor the header itself."""
    calls = tmp_path / "calls"
    path = f"{compiler_spy(tmp_path / 'bin', calls)}:{os.environ['PATH']}"
    fleet = Fleet(tmp_path / "fleet", variables={"PATH": path})
    fleet.variables["TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS"] = "1"
    hosts = [fleet.host(), fleet.host()]
    cold = fleet.run(host=hosts[0])
    assert_cold(cold)
    assert list(hosts[0].rglob("*.gch"))
    compiled = calls.read_text().splitlines()
    assert any(name.endswith(".main.cpp") for name in compiled), compiled
    assert any(name.endswith(".h") for name in compiled), compiled
    calls.unlink()
    warm = fleet.run(host=hosts[1])
    assert_warm(warm)
    assert warm.out[0]["losses"] == cold.out[0]["losses"]
    assert not calls.exists(), calls.read_text()
    assert not list(hosts[1].rglob("*.gch"))
