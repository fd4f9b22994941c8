from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from program import run_headway


@pytest.fixture
def headway() -> Callable[..., subprocess.CompletedProcess[str]]:
    return run_headway


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., Path]:
    """Runs a script with TORCH_TRACE set: the folder of its log."""

    def run(name: str, script: str, **variables: str) -> Path:
        folder = tmp_path / name
        environment = {
            **os.environ,
            "TORCH_TRACE": str(folder),
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # half of the time
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return folder

    return run


TWO_RANKS = """
import tempfile
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def rank(number, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=number, world_size=2)
    train(number)
    dist.destroy_process_group()

if __name__ == "__main__":
    context = mp.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [context.Process(target=rank, args=(n, folder)) for n in range(2)]
        [one.start() for one in ranks]
        [one.join() for one in ranks]
        assert all(one.exitcode == 0 for one in ranks)
"""


@pytest.fixture
def compiled_by_two(compiled: Callable[..., Path]) -> Callable[..., Path]:
    """The folder of both logs. The script is what defines train(rank)."""

    def run(name: str, train: str, **variables: str) -> Path:
        return compiled(name, "import torch\n" + train + TWO_RANKS, **variables)

    return run
