"""Runs `headway ckpt` on checkpoints that were written by hand."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ckpt_command import HEADWAY, Ckpt


@pytest.fixture
def ckpt() -> Ckpt:
    def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(HEADWAY), "ckpt", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == code, (arguments, done)
        if code == 2:
            assert done.stderr.count("\n") == 1, done.stderr
            assert done.stderr.startswith("headway: "), done.stderr
        return done

    return run


@pytest.fixture
def ckpt_json(ckpt: Ckpt) -> Callable[..., Any]:
    def run(*arguments: object, code: int = 0) -> Any:
        return json.loads(ckpt(*arguments, "--json", code=code).stdout)

    return run


@pytest.fixture
def tensors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {
        "model.embed.weight": rng.standard_normal((37, 12)).astype(np.float32),
        "model.layers.0.weight": rng.standard_normal((5, 300)).astype(np.float16),
        "model.layers.1.weight": rng.standard_normal((5, 300)).astype(np.float16),
        "model.bias": rng.standard_normal(9).astype(np.float64),
        "optim.cube": rng.integers(-(2**40), 2**40, (7, 3, 4)),
        "optim.mask": rng.integers(0, 2, (1, 6)).astype(bool),
        "optim.none": np.zeros((0, 7), dtype=np.float32),
        "optim.step": np.array(100, dtype=np.int64),
    }
