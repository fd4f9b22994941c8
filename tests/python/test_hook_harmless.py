"""The hook changes nothing: output, exit code, errors, results."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from launching import PACKAGE, ROOT, Launcher
from test_hook_stages import UNMODIFIED

INSPECT = """
    import copy, inspect, io, pickle, sys, types, warnings
    import importlib.util
    print(importlib.util.find_spec("torch").name)
    import torch, torch.nn as nn
    from torch.utils.data import DataLoader, Dataset, IterableDataset
    class Mine(DataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
    class Mixin:
        made = []
        def __init_subclass__(cls, tag=None, **kwargs):
            super().__init_subclass__(**kwargs)
            Mixin.made.append((cls.__name__, tag))
    class Tagged(nn.Module, Mixin, tag="x"):
        def __init__(self, width: int = 3):
            super().__init__()
            self.inner = nn.Linear(width, 1)
    class Typed(Dataset[int]):
        def __init__(self): self.x = 1
        def __eq__(self, other): return True
    print(Typed().x, Typed.__orig_bases__)
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(torch.ones(5, 1))
        def __len__(self):
            return 2
        def __repr__(self):
            return "Stream"
    torch.manual_seed(3)
    print(inspect.signature(DataLoader), inspect.signature(DataLoader.__init__))
    print(inspect.signature(torch.save), inspect.signature(nn.Linear), inspect.signature(Tagged))
    print(len(inspect.getsource(nn.Linear.__init__)), inspect.isfunction(nn.Module.__init__))
    print(Mixin.made, Tagged.__mro__, isinstance(Tagged(), nn.Module), callable(torch.load))
    print(pickle.loads(pickle.dumps(torch.save)) is torch.save, torch.save.__module__)
    model = copy.deepcopy(Tagged())
    buffer = io.BytesIO(); torch.save(model, buffer); buffer.seek(0)
    print(type(torch.load(buffer, weights_only=False)))
    print(torch.jit.script(nn.Sequential(nn.Linear(1, 1), nn.ReLU())).code)
    loader = Mine(Stream(), batch_size=1)
    len(loader)
    warnings.simplefilter("always")
    warnings.showwarning = lambda m, c, f, n, *a: print("warning", m, f, n)
    for _ in loader:
        pass
    try:
        class Wrong(nn.Module, tag="y"):
            pass
    except TypeError as error:
        print(error, error.__traceback__.tb_next)
    print(torch.initial_seed(), torch.rand(2), sys.argv, __name__, __file__)
    print(sys.path, sorted(vars()))
    print(torch.randperm(5), torch.get_rng_state().sum())
"""

FAILURES = {
    "exception in a constructor": (
        "import torch.nn as nn\nclass Bad(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        raise KeyError('inside')\nBad()\n",
        1,
        "KeyError: 'inside'",
    ),
    "exception in a dataset": (
        "import torch\nclass D(torch.utils.data.Dataset):\n    def __len__(self): return 2\n"
        "    def __getitem__(self, i): return 1 // 0\n"
        "next(iter(torch.utils.data.DataLoader(D())))\n",
        1,
        "ZeroDivisionError: integer division or modulo by zero",
    ),
    "an import that fails": ("import torch\nimport no_such_module\n", 1, "ModuleNotFoundError"),
    "an error before torch": ("import os\nraise RuntimeError('early' * 100)\n", 1, "RuntimeError"),
    "exit code": ("import torch, sys\nsys.exit(7)\n", 7, None),
    "exit message": ("import torch, sys\nsys.exit('bye')\n", 1, None),
    "os._exit": ("import torch, os\nos._exit(9)\n", 9, None),
    "signal": ("import torch, os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", -9, None),
    "an error in a thread": (
        "import torch, threading\n"
        "t = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\n",
        0,
        None,
    ),
    "a hook of the script's own": (
        "import torch, sys\nsys.excepthook = lambda *a: print('mine', a[1])\nraise OSError('x')\n",
        1,
        "OSError: x",
    ),
}


def test_inspection_pickling_and_warnings_see_no_difference(launch: Launcher) -> None:
    script = launch.script(INSPECT)
    plain, hooked = launch.run(script, "a", hook=False), launch.run(script, "a")
    assert plain.code == 0, plain.err
    assert (hooked.code, hooked.out, hooked.err) == (plain.code, plain.out, plain.err)
    assert "warning Length of IterableDataset" in plain.out
    assert hooked.journal.spans("train_module_creation"), "looking for torch is not importing it"


def test_training_gives_the_same_numbers(launch: Launcher) -> None:
    script = launch.script(UNMODIFIED)
    plain, hooked = launch.run(script, hook=False), launch.run(script)
    assert (hooked.code, hooked.out, hooked.err) == (plain.code, plain.out, plain.err)


@pytest.mark.parametrize("name", FAILURES)
def test_ends_are_the_scripts_own(launch: Launcher, name: str) -> None:
    text, code, reason = FAILURES[name]
    script = launch.script(text)
    plain, hooked = launch.run(script, hook=False), launch.run(script)
    assert (plain.code, hooked.code) == (code, code)
    assert (hooked.out, hooked.err) == (plain.out, plain.err)
    failures = hooked.journal.of("mark", "failure")
    if reason is None:
        assert failures == []
    else:
        (failure,) = failures
        origin = "unknown" if reason.startswith("OSError") else "user"
        assert failure.a == (1, 0, origin, 0)
        assert failure.b.startswith(reason) and len(failure.b) <= 200


def test_modules_and_commands_run_as_ever(launch: Launcher) -> None:
    package = launch.folder / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import torch, sys\nprint(__name__, sys.argv[1:])\n")
    for command in (["-m", "pkg", "x"], ["-c", "import torch, sys; print(sys.argv)", "y"]):
        plain, hooked = launch.run(*command, hook=False), launch.run(*command)
        assert (hooked.code, hooked.out, hooked.err) == (plain.code, plain.out, plain.err)
        assert len(hooked.journal.spans("imports")) == 1


def test_disabled(launch: Launcher) -> None:
    script = launch.script("import torch\ntorch.nn.Linear(1, 1)\n")
    for env in ({"HEADWAY_DISABLE": "1"}, {"HEADWAY_RANK_PID": "1"}):
        result = launch.run(script, env=env)
        assert (result.code, result.err, result.journals()) == (0, "", [])


def test_a_journal_that_cannot_be_opened_is_one_line(launch: Launcher) -> None:
    blocked = launch.folder / "blocked"
    blocked.write_text("not a folder")
    script = launch.script("import torch\ntorch.nn.Linear(1, 1)\nprint('done')\n")
    result = launch.run(script, env={"HEADWAY_DIR": str(blocked)})
    assert (result.code, result.out) == (0, "done\n")
    (line,) = result.err.splitlines()
    assert line.startswith("headway: cannot open a journal") and "not measuring" in line


def test_a_torch_without_the_expected_parts_is_one_line(launch: Launcher) -> None:
    package = launch.folder / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '9.9'\n")
    result = launch.run(launch.script("import torch\nprint('done')\n"))
    assert (result.code, result.out) == (0, "done\n")
    (line,) = result.err.splitlines()
    assert line.startswith("headway: torch 9.9: ") and "; not measuring steps" in line


def test_a_recorder_that_cannot_be_loaded_is_one_line(launch: Launcher) -> None:
    """As for a Python of another version than the package was built for."""
    package = launch.folder / "package"
    shutil.copytree(PACKAGE / "headway", package / "headway")
    for file in (package / "headway").glob("_core*"):
        file.unlink()
    env = {"PYTHONPATH": f"{package / 'headway' / '_hook'}:{package}"}
    quiet = launch.run(launch.script("print('done')\n"), env=env)
    assert (quiet.code, quiet.out, quiet.err) == (0, "done\n", "")
    result = launch.run(launch.script("import torch\nprint('done')\n"), env=env)
    assert (result.code, result.out) == (0, "done\n")
    (line,) = result.err.splitlines()
    assert line.startswith("headway: no recorder for Python 3.") and "not measuring" in line


def test_torchrun_itself_is_no_rank(launch: Launcher) -> None:
    script = launch.script(
        "import os, torch\ntorch.nn.Linear(1, 1)\nprint('rank', os.environ['RANK'])\n"
    )
    result = launch.run("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", script)
    assert result.code == 0, result.err
    assert [p.name for p in result.journals()] == ["rank-00000.hwj", "rank-00001.hwj"]


def test_the_example_trains_alike_on_two_ranks(launch: Launcher) -> None:
    """examples/dlrm on two ranks, cut short and resumed; the same losses with and without."""
    example = ROOT / "examples" / "dlrm" / "train.py"
    outputs = []
    for hook in (False, True):
        out = ""
        launch.attempt += hook
        env = launch.environment(hook, launch.folder / "state")
        for steps in ("8", "12"):
            if hook and steps == "12":
                env["HEADWAY_ATTEMPT"] = str(launch.attempt + 1)
            command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
            command += ["--nproc-per-node=2", str(example), "--steps", steps, "--save-every", "4"]
            command += ["--checkpoint", str(launch.folder / f"dlrm-{hook}.pt"), "--no-compile"]
            done = subprocess.run(
                command, env={**os.environ, **env}, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            out += done.stdout
        outputs.append(out)
    assert outputs[0] == outputs[1] and "loss" in outputs[0]


def test_a_fork_finds_no_thread_of_ours(launch: Launcher) -> None:
    """Python 3.12 and later warn of a fork in a process with several threads."""
    text = """
    import os
    def keepers():
        tasks = [f"/proc/self/task/{task}/comm" for task in os.listdir("/proc/self/task")]
        return [task for task in tasks if open(task).read() == "headway\\n"]
    import torch
    before = keepers()
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            os._exit(len(keepers()))
        assert os.waitpid(pid, 0)[1] == 0
    after = keepers()
    assert len(before) == len(after) == 1
    assert before != after, "it did not pause"
    print("forked")
    """
    assert launch.train(text).out == "forked\n"
