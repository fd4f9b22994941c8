"""What a process finds when it starts: environment, arguments, stdin; and what `run` refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

DUMP = """
import json, os, sys
rank = os.environ.get("RANK", "x")
restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "x")
with open(f"env-{rank}-{restart}.json", "w") as file:
    json.dump({"env": dict(os.environ), "argv": sys.argv, "pid": os.getpid()}, file)
"""


def dumped(agent, rank: int | str = 0, restart: int | str = 0) -> dict:
    return json.loads((agent.folder / f"env-{rank}-{restart}.json").read_text())


def test_ranks_get_torchruns_environment(agent):
    done = agent.python(DUMP, "--nproc", "2", "--job", "j", "--max-restarts", "3")
    assert done.returncode == 0, done.stderr
    envs = [dumped(agent, rank)["env"] for rank in range(2)]
    for rank, env in enumerate(envs):
        expected = {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "ROLE_RANK": str(rank),
            "GROUP_RANK": "0",
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2",
            "ROLE_WORLD_SIZE": "2",
            "GROUP_WORLD_SIZE": "1",
            "ROLE_NAME": "default",
            "MASTER_ADDR": "127.0.0.1",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": "3",
            "TORCHELASTIC_RUN_ID": "j",
            "TORCHELASTIC_USE_AGENT_STORE": "False",
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
            "HEADWAY_DIR": str(agent.jobs),
            "HEADWAY_JOB": "j",
            "HEADWAY_ATTEMPT": "1",
            "HEADWAY_RANK_PID": str(dumped(agent, rank)["pid"]),
        }
        assert {key: env.get(key) for key in expected} == expected
        assert env["TORCHELASTIC_ERROR_FILE"].startswith(str(agent.jobs / "j" / "1"))
        boot_id, monotonic_ns, real_ns = env["HEADWAY_ANCHOR"].split(":")
        assert len(bytes.fromhex(boot_id)) == 16
        assert int(monotonic_ns) > 0 and int(real_ns) > int(monotonic_ns)
    assert envs[0]["MASTER_PORT"] == envs[1]["MASTER_PORT"]
    assert envs[0]["HEADWAY_ANCHOR"] == envs[1]["HEADWAY_ANCHOR"]


def test_every_attempt_has_a_port_that_can_be_listened_on(agent):
    text = DUMP + (
        "import socket\n"
        "server = socket.create_server(('', int(os.environ['MASTER_PORT'])))\n"
        "sys.exit(0 if restart == '1' else 5)\n"
    )
    done = agent.python(text, "--max-restarts", "1")
    assert done.returncode == 0, done.stderr
    ports = [dumped(agent, 0, restart)["env"]["MASTER_PORT"] for restart in range(2)]
    assert ports[0] != ports[1]


def test_one_rank_is_a_rank_too_and_keeps_its_threads(agent):
    assert agent.python(DUMP).returncode == 0
    env = dumped(agent)["env"]
    assert env["WORLD_SIZE"] == "1"
    assert "OMP_NUM_THREADS" not in env


def test_a_command_is_only_measured(agent):
    done = agent.run("--job", "j", "--", sys.executable, agent.script(DUMP))
    assert done.returncode == 0, done.stderr
    env = dumped(agent, "x", "x")["env"]
    assert env["HEADWAY_JOB"] == "j"
    assert Path(env["HEADWAY_BIN"]).samefile(agent.binary), "for a holder that ranks below it start"
    for name in ("RANK", "WORLD_SIZE", "MASTER_PORT", "HEADWAY_RANK_PID", "PYTHONUNBUFFERED"):
        assert name not in env


def test_several_copies_of_a_command_are_ranks(agent):
    done = agent.run("--nproc", "2", "--", "sh", "-c", "echo $RANK of $WORLD_SIZE")
    assert sorted(done.stdout.splitlines()) == [b"[0] 0 of 2", b"[1] 1 of 2"]


def test_what_follows_the_script_is_the_scripts(agent):
    words = ["--lr", "0.1", "--help", "--job", "x", "[1,2]", "", "--", "-q", "report", "a=b c"]
    done = agent.run("--python", sys.executable, agent.script(DUMP), *words)
    assert done.returncode == 0, done.stderr
    assert dumped(agent)["argv"][1:] == words


def test_a_module_runs(agent):
    agent.script(DUMP, "fit.py")
    done = agent.run("--python", sys.executable, "-m", "fit", "--epochs", "3")
    assert done.returncode == 0, done.stderr
    assert dumped(agent)["argv"][1:] == ["--epochs", "3"]
    assert b"job fit-" in done.stderr


def test_stdin_passes_to_a_single_rank(agent):
    script = agent.script("import sys; print(sys.stdin.read().upper())")
    done = agent.run("--python", sys.executable, script, stdin=b"hello")
    assert done.stdout == b"HELLO\n"


def test_the_hook_is_put_in_front_of_pythonpath(agent):
    hook = agent.folder / "package" / "headway" / "_hook"
    hook.mkdir(parents=True)
    (hook / "sitecustomize.py").write_text("import os; os.environ['HOOKED'] = 'yes'\n")
    agent.environment["HEADWAY_PYTHON_DIR"] = str(agent.folder / "package")
    agent.environment["PYTHONPATH"] = "/mine"
    done = agent.python(DUMP)
    env = dumped(agent)["env"]
    assert env["HOOKED"] == "yes"
    assert env["PYTHONPATH"] == f"{hook}:{agent.folder / 'package'}:/mine"
    assert b"hook" not in done.stderr


def test_a_missing_hook_is_one_warning(agent):
    done = agent.python(DUMP)
    assert done.returncode == 0
    assert done.stderr.count(b"hook was not found") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nope.py"], 2, b"nope.py: no such script"),
        ([], 2, b"nothing to run"),
        (["--nproc", "0", "train.py"], 2, b"--nproc 0"),
        (["--nproc", "9999", "train.py"], 2, b"--nproc 9999"),
        (["--nproc", "two", "train.py"], 2, b"--nproc two: want 1 to 256"),
        (["--grace", "x", "train.py"], 2, b"--grace x: want seconds from 0 to 3600"),
        (["--lease", "0", "train.py"], 2, b"--lease 0: want seconds from 1 to 600"),
        (
            ["--hang-timeout", "0", "train.py"],
            2,
            b"--hang-timeout 0: want auto, off, or a time of more",
        ),
        (["--nnodes", "3:2", "train.py"], 2, b"--nnodes 3:2: MIN must not exceed MAX"),
        (
            ["--rdzv", "a:99999", "train.py"],
            2,
            b"--rdzv a:99999: want HOST or HOST:PORT with a port",
        ),
        (["--rdzv", "a", "train.py"], 2, b"--rdzv a: say with --nnodes"),
        (["--nnodes", "2", "--node-rank", "2", "train.py"], 2, b"--node-rank 2: of 2 nodes"),
        (["--node-rank", "x", "train.py"], 2, b"--node-rank x: want 0 to"),
        (["--cold", "--preload", "json", "train.py"], 2, b"--preload: with --cold nothing"),
        (["--job", "", "train.py"], 2, b"run: the value of --job is empty"),
        (["--rdzv", "", "train.py"], 2, b"run: the value of --rdzv is empty"),
        (["."], 2, b".: a folder without __main__.py"),
        (["--job", "a/b", "train.py"], 2, b"job name 'a/b'"),
        (["--attr", "novalue", "train.py"], 2, b"novalue: want key=value"),
        (["--no-such-option", "train.py"], 2, b"--no-such-option"),
        (["--python", "/no/python", "train.py"], 125, b"/no/python: no such Python interpreter"),
        (["--", "no-such-command"], 127, b"no-such-command: command not found"),
        (["--", "./train.py"], 126, b"./train.py: cannot be executed"),
    ],
)
def test_refusals_are_one_clear_line(agent, arguments, code, message):
    agent.script("raise SystemExit(0)")
    done = agent.run(*arguments)
    assert done.returncode == code, done.stderr
    lines = [line for line in done.stderr.splitlines() if b"hook" not in line]
    assert len(lines) == 1 and lines[0].startswith(b"headway: ") and message in lines[0]


def test_times_may_have_a_unit(agent):
    options = ["--grace", "1m", "--hang-timeout", "90s", "--lease", "2m", "--preload", "json,os"]
    assert agent.python("", *options).returncode == 0


def test_a_folder_with_a_main_is_a_script(agent):
    (agent.folder / "app").mkdir()
    agent.script("print('main')", "app/__main__.py")
    done = agent.run("--python", sys.executable, "app")
    assert done.returncode == 0 and done.stdout == b"main\n"


def test_help_has_an_example(agent):
    done = agent.run("--help")
    assert done.returncode == 0
    assert b"headway run train.py --lr 0.1" in done.stdout
    columns = {line.find(b"  ", 4) for line in done.stdout.splitlines() if line[:4] == b"  --"}
    assert max(columns) <= 30, "every option stands on the line of its text"


def test_a_place_that_cannot_be_written_only_ends_the_measuring(agent):
    (agent.folder / "file").write_text("")
    agent.environment["HEADWAY_DIR"] = str(agent.folder / "file" / "jobs")
    done = agent.python(DUMP)
    assert done.returncode == 0
    assert done.stderr.count(b"running unmeasured") == 1
    env = dumped(agent)["env"]
    assert env["HEADWAY_DISABLE"] == "1" and "HEADWAY_JOB" not in env
    assert env["RANK"] == "0"


def test_disabled_means_untouched(agent):
    agent.environment["HEADWAY_DISABLE"] = "1"
    done = agent.python(DUMP)
    assert done.returncode == 0
    assert done.stderr == b""
    assert not agent.jobs.exists()
    assert "PYTHONPATH" not in dumped(agent)["env"]


def test_dir_option_wins(agent, tmp_path: Path):
    done = agent.run("--dir", "elsewhere", "--job", "j", "--", "true")
    assert b"headway report j --dir 'elsewhere'" in done.stderr
    assert done.returncode == 0
    assert (tmp_path / "elsewhere" / "j" / "1").is_dir()
    assert not agent.jobs.exists()
