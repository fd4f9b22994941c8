"""Data-parallel parameters that differ between ranks are stored once: somebody has to say so."""

from __future__ import annotations

import re

import pytest
from replica_machine import SCRIPTS, Machine


@pytest.mark.parametrize("apart", ["", "0.bias"])
def test_what_differs_is_named_once(machine: Machine, apart: str) -> None:
    output = machine.headway("run", "--nproc", 2, SCRIPTS / "apart.py", APART=apart)
    assert output.count("is done") == 2
    said = re.findall(r"RuntimeWarning: headway: (.*): not the same on all ranks", output)
    assert said == (["model.0.bias"] * 2 if apart else [])
