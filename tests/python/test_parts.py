"""Parts of the hook that need no torch: the claim, positions, device times, the import clock."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from launching import PACKAGE, Launcher

from headway import _recorder as rec
from headway._auto import failure, position
from headway._auto.claim import is_launcher, process_start_monotonic_ns
from headway._auto.device import PENDING_MAX, DeviceSteps
from headway._auto.position import Position


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("python train.py", False),
        ("python -u -X dev train.py torchrun", False),
        ("python -c pass", False),
        ("python -m mytrainer", False),
        ("python -m torch.distributed.run x.py", True),
        ("python -mtorch.distributed.launch x.py", True),
        ("python /venv/bin/torchrun --nproc-per-node 2 train.py", True),
        ("python -W ignore /venv/bin/pip install x", True),
        ("python -m pip list", True),
        ("python", False),
    ],
)
def test_launchers_do_not_claim(line: str, expected: bool) -> None:
    assert is_launcher(line.split()) is expected


def test_process_start_is_in_the_past() -> None:
    import time

    start = process_start_monotonic_ns()
    assert 0 < start <= time.monotonic_ns()


def test_position_follows_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_JOB", "job")
    monkeypatch.setenv("HEADWAY_DIR", str(tmp_path / "state"))
    for kind in ("attribute", "fallback"):
        if kind == "fallback":

            def refuse(*_: Any) -> None:
                raise OSError(95, "not supported")

            monkeypatch.setattr(os, "setxattr", refuse)
            monkeypatch.setattr(os, "getxattr", refuse)
        temporary, final = tmp_path / f"{kind}.tmp", tmp_path / f"{kind}.pt"
        temporary.write_bytes(b"state")
        assert position.write(str(temporary), Position(7, 56, 8))
        os.replace(temporary, final)
        assert position.read(str(final)) == Position(7, 56, 8)
        assert position.read(str(tmp_path / "none")) is None
        monkeypatch.setenv("HEADWAY_JOB", "another")
        assert position.read(str(final)) is None
        monkeypatch.setenv("HEADWAY_JOB", "job")
        if kind == "fallback":
            final.write_bytes(b"another state")
            assert position.read(str(final)) is None


def test_a_folder_carries_its_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_JOB", "job")
    (tmp_path / ".metadata").write_bytes(b"m")
    assert position.write(str(tmp_path), Position(3, None, 0))
    assert position.read(str(tmp_path)) == Position(3, None, 0)


class FakeDevice:
    """A queue that runs behind the host: the stand-in for an accelerator's events."""

    def __init__(self) -> None:
        self.host = 1000
        self.free_at = 0

    def event(self) -> FakeEvent:
        return FakeEvent(self)


class FakeEvent:
    def __init__(self, device: FakeDevice) -> None:
        self.device = device
        self.passes_at: int | None = None

    def record(self) -> None:
        self.passes_at = max(self.device.free_at, self.device.host)

    def query(self) -> bool:
        assert self.passes_at is not None
        return self.device.host >= self.passes_at

    def elapsed_time(self, other: FakeEvent) -> float:
        assert self.passes_at is not None and other.passes_at is not None
        return float(other.passes_at - self.passes_at)


def test_device_times_without_waiting() -> None:
    seed = 7
    rng = random.Random(seed)
    device = FakeDevice()
    done: dict[int, int] = {}
    steps = DeviceSteps(device.event, lambda: device.host, 1, done.__setitem__)
    truth = {}
    for step in range(1, 401):
        device.host += rng.randrange(1, 20)
        device.free_at = max(device.free_at, device.host) + rng.randrange(1, 22)
        truth[step] = max(device.free_at, device.host)
        steps.after_step(step)
    assert len(done) > 300 and steps.skipped == 0, f"seed {seed}"
    errors = [abs(done[step] - truth[step]) for step in done if step > 100]
    assert max(errors) <= 22, f"seed {seed}"
    assert list(done) == sorted(done)


def test_device_events_in_flight_are_bounded() -> None:
    device = FakeDevice()
    device.free_at = 10**9
    steps = DeviceSteps(device.event, lambda: device.host, 1, lambda *_: None)
    for step in range(PENDING_MAX + 10):
        steps.after_step(step)
    assert steps.skipped == 10


@pytest.mark.parametrize(
    ("error", "origin", "text"),
    [
        (ValueError("bad shape"), rec.ORIGIN_USER, "ValueError: bad shape"),
        (FileNotFoundError(2, "gone"), rec.ORIGIN_USER, "FileNotFoundError: [Errno 2] gone"),
        (OSError(5, "Input/output error"), rec.ORIGIN_UNKNOWN, "OSError: [Errno 5] Input/output"),
        (RuntimeError("CUDA error: an illegal"), rec.ORIGIN_UNKNOWN, "RuntimeError: CUDA error"),
        (RuntimeError("mat1 and mat2"), rec.ORIGIN_USER, "RuntimeError: mat1 and mat2"),
        (
            RuntimeError(
                "Caught OSError in worker 0.\nOriginal Traceback:\n File x\nOSError: gone"
            ),
            rec.ORIGIN_UNKNOWN,
            "RuntimeError: Caught OSError in worker 0. OSError: gone",
        ),
    ],
)
def test_whose_fault_an_exception_is(error: BaseException, origin: int, text: str) -> None:
    described = failure._describe(type(error), error)
    assert described.startswith(text)
    assert failure._origin(type(error), described) == origin


def test_import_times_add_up_by_package(launch: Launcher) -> None:
    package = launch.folder / "outer"
    package.mkdir()
    (package / "__init__.py").write_text("import time; time.sleep(0.05); import inner\n")
    (launch.folder / "inner.py").write_text("import time; time.sleep(0.1)\n")
    text = """
    import builtins, sys
    from headway import _core
    real = builtins.__import__
    _core.import_clock_start()
    assert builtins.__import__ is not real
    import outer
    try:
        import no_such_module
    except ModuleNotFoundError as error:
        assert error.name == "no_such_module" and error.__traceback__.tb_next is None
    assert _core.import_clock_depth() == 0
    _core.import_clock_stop()
    assert builtins.__import__ is real
    end, packages = _core.import_clock_result()
    assert end > 0 and packages["inner"] >= 100e6
    assert 50e6 <= packages["outer"] < packages["inner"] + 100e6, packages
    """
    result = launch.run(launch.script(text), hook=False)
    assert result.code == 0, result.err


def test_the_hook_leaves_sys_path_and_runs_the_users_sitecustomize(launch: Launcher) -> None:
    (launch.folder / "sitecustomize.py").write_text("print('site of the user')\n")
    show = "import sys; print(sys.path); print(sys.modules['sitecustomize'].__file__)"
    outputs = []
    for hook in (False, True):
        path = launch.environment(hook, launch.folder)["PYTHONPATH"]
        result = launch.run("-c", show, hook=hook, env={"PYTHONPATH": f"{path}:{launch.folder}"})
        assert result.code == 0, result.err
        outputs.append(result.out)
    assert outputs[0] == outputs[1] and outputs[0].startswith("site of the user")
    hooked = f"{PACKAGE / 'headway' / '_hook'}:{PACKAGE}"
    result = launch.run("-c", "import sys; print(sys.path[-1])", env={"PYTHONPATH": hooked})
    assert result.out.strip() == str(PACKAGE), "importable, but behind everything else"
    assert result.journals() == [], "a process without torch is no rank"
