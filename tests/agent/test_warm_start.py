"""Ranks forked from the fork server: the same process as a plain start makes, sooner; and a plain
start wherever a fork would not be safe."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from marked_processes import proc_file

# Everything that a script can ask of its process, but for what differs from start to start.
PORTRAIT = """
import json, os, random, re, resource, signal, sys, threading
import mine
main = sys.modules["__main__"]
fresh = "PID ATTEMPT PORT ANCHOR TSC RESTART ERROR_FILE RUN JOB TEST BOARD REPLICA TEMP_".split()
portrait = {
    "argv": sys.argv,
    "orig_argv": sys.orig_argv,
    "path": sys.path,
    "main": {k: re.sub("0x[0-9a-f]+", "", str(v)) for k, v in vars(main).items()
             if k.startswith("__") and k != "__loader__"},
    "loader": type(main.__loader__).__name__,
    "flags": list(sys.flags),
    "environ": {k: v for k, v in os.environ.items() if not any(f in k for f in fresh)},
    "handlers": {s.name: str(signal.getsignal(s)) for s in signal.Signals},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "fds": {int(fd): os.readlink(f"/proc/self/fd/{fd}").split(":")[0]
            for fd in sorted(os.listdir("/proc/self/fd")) if int(fd) < 3},
    "open_fds": len(os.listdir("/proc/self/fd")),
    "threads": len(os.listdir("/proc/self/task")),
    "cwd": os.getcwd(),
    "umask": os.umask(0),
    "group": os.getpgid(0) == os.getpid(),
    "nice": os.nice(0),
    "limits": [resource.getrlimit(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)],
    "stdout": [sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering],
    "stderr": [sys.stderr.encoding, sys.stderr.errors, sys.stderr.line_buffering],
    "recursion": sys.getrecursionlimit(),
    "main_thread": threading.current_thread() is threading.main_thread(),
    "native": threading.main_thread().native_id == os.getpid(),
    "mine": mine.VALUE,
    "pdeathsig": mine.pdeathsig(),
    "comm": open("/proc/self/comm").read(),
    "cmdline": open("/proc/self/cmdline").read(),
    "meta_path": [str(getattr(f, "__name__", type(f).__name__)) for f in sys.meta_path],
}
print(json.dumps(portrait, sort_keys=True))
"""
MINE = """
import ctypes
VALUE = 7
def pdeathsig():
    out = ctypes.c_int()
    ctypes.CDLL(None).prctl(2, ctypes.byref(out), 0, 0, 0)
    return out.value
"""


@pytest.fixture(autouse=True)
def mine(hooked):
    """A module beside the script."""
    hooked.script(MINE, "mine.py")


def run(agent, text: str, *options: str, arguments: tuple[str, ...] = ()):
    script = agent.script(text)
    return agent.run("--python", sys.executable, *options, script, *arguments)


def lines(output: bytes, rank: int) -> list[str]:
    mark = f"[{rank}] "
    return [line.removeprefix(mark) for line in output.decode().splitlines() if line[:4] == mark]


def how(agent, job: str, attempt: int = 1) -> str:
    return agent.journal(job, attempt).attrs.get("start", "")


@pytest.mark.parametrize("known", [False, True])
def test_a_forked_rank_is_the_process_that_a_plain_start_makes(hooked, known):
    portraits = {}
    for job in (["first"] if known else []) + ["warm", "cold"]:
        options = ["--nproc", "2", "--job", job] + (["--cold"] if job == "cold" else [])
        done = run(hooked, PORTRAIT, *options, arguments=("--lr", "0.1", ""))
        assert done.returncode == 0, done.stderr.decode()
        portraits[job] = [json.loads(lines(done.stdout, rank)[0]) for rank in (0, 1)]
    assert how(hooked, "warm") == "warm"
    assert how(hooked, "cold") == ""
    for warm, cold in zip(portraits["warm"], portraits["cold"], strict=True):
        # The first rank keeps a pipe to tell the server what it imports.
        assert warm.pop("open_fds") - cold.pop("open_fds") == (warm["environ"]["RANK"] == "0")
        assert warm == cold


def test_proc_shows_a_ranks_own_variables(hooked):
    text = "print(open('/proc/self/environ').read().replace(chr(0), ' '))"
    done = run(hooked, text, "--nproc", "2", "--job", "a")
    assert how(hooked, "a") == "warm"
    for rank in (0, 1):
        words = lines(done.stdout, rank)[0].split()
        assert f"RANK={rank}" in words and "WORLD_SIZE=2" in words
        assert not any("..." in word for word in words)


def test_a_module_run_with_m_is_the_same_too(hooked):
    (hooked.folder / "pkg").mkdir()
    hooked.script("", "pkg/__init__.py")
    hooked.script(PORTRAIT, "pkg/train.py")
    found = []
    for options in ([], ["--cold"]):
        done = hooked.run(
            "--python", sys.executable, "--nproc", "2", *options, "-m", "pkg.train", "a"
        )
        assert done.returncode == 0, done.stderr.decode()
        found.append(json.loads(lines(done.stdout, 1)[0]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    raise ValueError('no')\nf()",
        "import sys\nsys.exit('stop here')",
        "import sys\nsys.exit(3)",
        "raise KeyboardInterrupt",
        "x = = 1",
        "import atexit\natexit.register(print, 'bye')\nprint('no newline', end='')",
        "import os\nos.abort()",
    ],
)
def test_ends_look_the_same(hooked, text):
    """The other rank may be ended before it has said all."""
    warm, cold = [run(hooked, text, "--nproc", "2", *cold) for cold in ([], ["--cold"])]
    assert warm.returncode == cold.returncode
    for said in ("stdout", "stderr"):
        most = [max((lines(getattr(d, said), r) for r in (0, 1)), key=len) for d in (warm, cold)]
        assert most[0] == most[1]


def test_chance_differs_between_ranks_unless_a_module_has_seeded_it(hooked):
    text = "import random, mine\nprint(random.random())"
    for seeded in (False, True):
        hooked.script(MINE + ("\nimport random\nrandom.seed(5)" if seeded else ""), "mine.py")
        run(hooked, text, "--nproc", "2", "--job", "first")  # so that `mine` is known
        done = run(hooked, text, "--nproc", "2", "--job", f"seeded-{seeded}", "--preload", "mine")
        values = {lines(done.stdout, rank)[0] for rank in (0, 1)}
        assert len(values) == (1 if seeded else 2)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("import os\nVALUE = os.environ.get('RANK')", "VALUE"),
        ("import os\nVALUE = os.environ['RANK']", "VALUE"),
        ("import os\nVALUE = os.environ['RANK'] if 'RANK' in os.environ else None", "VALUE"),
        ("import threading, os\nt = threading.Thread(target=threading.Event().wait, daemon=True)\n"
         "t.start()\nVALUE = os.getenv('RANK')", "VALUE if mine.t.is_alive() else 'dead'"),
    ],
)  # fmt: skip
def test_what_must_not_be_imported_ahead_is_not(hooked, body, shown):
    """And what imports it is not either; everything else still is."""
    hooked.script(body, "mine.py")
    hooked.script("import mine\nVALUE = mine.VALUE", "other.py")
    text = f"import mine, other\nprint(mine.{shown}, other.VALUE)"
    for job in ("first", "second"):
        done = run(hooked, text, "--nproc", "2", "--job", job, "--preload", "other,mine,json")
        assert done.returncode == 0, done.stderr.decode()
        assert [lines(done.stdout, rank) for rank in (0, 1)] == [["0 0"], ["1 1"]]
        assert how(hooked, job) == "warm"
    (memory,) = (hooked.jobs / ".warm").glob("train-*.json")
    assert set(json.loads(memory.read_text())["skip"]) >= {"mine"}


def test_a_module_of_preload_that_cannot_be_imported_is_told_once(hooked):
    """A guess from the script's text that fails is not: the script may catch it."""
    hooked.script("raise ValueError('first\\nsecond')", "mine.py")
    text = "import os, sys\ntry: import nosuchguess\nexcept ImportError: pass\nsys.exit(3)"
    preload = ("--preload", "nosuchmod,json,mine", "--max-restarts", "1", "--quiet")
    done = run(hooked, text, "--nproc", "2", "--job", "a", *preload)
    assert done.returncode == 3
    assert [line for line in done.stderr.decode().splitlines() if "--preload" in line] == [
        "headway: --preload mine: ValueError: first",
        "headway: --preload nosuchmod: No module named 'nosuchmod'",
    ]
    assert how(hooked, "a") == "warm"


def test_a_changed_module_is_imported_anew(hooked, until):
    text = """
import mine, os, pathlib, sys
print(mine.VALUE, flush=True)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    if os.environ["RANK"] == "0":
        path = pathlib.Path(mine.__file__)
        path.write_text("VALUE = 8800")
        os._exit(1)
    sys.stdin.read(); import time; time.sleep(100)
"""
    done = run(
        hooked, text, "--nproc", "2", "--max-restarts", "1", "--job", "a", "--preload", "mine"
    )
    assert done.returncode == 0, done.stderr.decode()
    assert lines(done.stdout, 0) == ["7", "8800"]
    assert how(hooked, "a", 1) == "warm"
    assert how(hooked, "a", 2).startswith("plain: ")
    assert "mine.py has changed" in how(hooked, "a", 2)


def servers(agent) -> list[int]:
    """Processes that hold the server's end of the talk: children of the agent that have children
    of their own or none, told by their variable."""
    found = []
    for pid in agent.living():
        is_server = b"HEADWAY_WARM_FD=" in proc_file(pid, "environ")
        if is_server and proc_file(pid, "comm") == b"headway-warm\n":
            found.append(pid)
    return found


WAITS = """
import os, pathlib, time
restarts = os.environ["TORCHELASTIC_RESTART_COUNT"]
pathlib.Path(f"ready-{restarts}-{os.environ['RANK']}").write_text(str(os.getpid()))
while not os.path.exists("go"):
    time.sleep(0.01)
"""


def ready(agent, until, restarts: int) -> list[int]:
    paths = [agent.folder / f"ready-{restarts}-{rank}" for rank in (0, 1)]
    until(lambda: all(p.exists() and p.read_text() for p in paths), f"start {restarts}")
    return [int(path.read_text()) for path in paths]


def test_a_killed_server_is_replaced_and_its_ranks_live_on(hooked, until):
    process = hooked.start(
        "--python", sys.executable, "--nproc", "2", "--max-restarts", "2", "--job", "a",
        hooked.script(WAITS),
    )  # fmt: skip
    first = ready(hooked, until, 0)
    (server,) = servers(hooked)
    os.kill(server, signal.SIGKILL)
    until(lambda: len(servers(hooked)) == 1 and servers(hooked) != [server], "another server")
    os.kill(first[1], signal.SIGKILL)
    second = ready(hooked, until, 1)
    assert not set(first) & set(second)
    os.kill(servers(hooked)[0], signal.SIGKILL)  # and at the very moment of a failure
    os.kill(second[0], signal.SIGKILL)
    ready(hooked, until, 2)
    (hooked.folder / "go").touch()
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert how(hooked, "a", 2) == "warm"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_the_server_still_imports(hooked, until, number):
    hooked.script("import time, pathlib\npathlib.Path('busy').touch()\ntime.sleep(1000)", "mine.py")
    process = hooked.start(
        "--python", sys.executable, "--nproc", "2", "--preload", "mine", hooked.script(WAITS)
    )
    until(lambda: (hooked.folder / "busy").exists(), "the import runs")
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number


def test_an_interpreter_that_skips_the_hook_never_runs_the_script_as_a_server(hooked):
    wrapper = hooked.folder / "python"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -I "$@"\n')
    wrapper.chmod(0o755)
    script = hooked.script("import os\nprint(os.environ['RANK'])")
    done = hooked.run("--python", str(wrapper), "--nproc", "2", "--job", "a", script)
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(done.stdout.decode().split()) == ["0", "1", "[0]", "[1]"]
    assert how(hooked, "a").startswith("plain: ")


def test_a_server_that_cannot_fork_falls_back(hooked):
    """A thread of a trusted package cannot be laid at anybody's door."""
    (hooked.folder / "numpy").mkdir()
    hooked.script(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
        "numpy/__init__.py",
    )
    done = run(hooked, "print('ran')", "--nproc", "2", "--job", "a", "--preload", "numpy")
    assert done.returncode == 0, done.stderr.decode()
    assert "plain start: 1 thread running in the fork server" in done.stderr.decode()
    assert how(hooked, "a") == "plain: 1 thread running in the fork server"


def test_a_single_rank_with_all_its_threads_is_warm_too(hooked):
    """numpy's BLAS has threads of its own then, which end before a fork; torch's work after it."""
    text = """
import os
import numpy, torch
a = torch.ones(600, 600)
assert (a @ a)[0, 0] == 600 and (a.numpy() @ a.numpy())[0, 0] == 600
assert torch.get_num_threads() == THREADS
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    os._exit(9)
""".replace("THREADS", str(len(os.sched_getaffinity(0))))
    done = run(hooked, text, "--max-restarts", "1", "--job", "a")
    assert done.returncode == 0, done.stderr.decode()
    assert [how(hooked, "a", attempt) for attempt in (1, 2)] == ["warm", "warm"]
