"""The unit of `headway serve`, judged by systemd's own tools, and started as it says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from deploying import DEPLOY, HEADWAY, ROOT
from serving import running

UNIT = DEPLOY / "systemd/headway-serve.service"
TLS = DEPLOY / "systemd/headway-tls.conf"
BINARY = "/usr/local/bin/headway"
# systemd-analyze security: 0 is a service that can do nothing, 10 one that can do everything.
EXPOSURE_MAX = 2.0

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze: ./dev setup"
)


def directives() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if line and line[0] not in "#[":
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def installed(folder: Path, tls: bool = False) -> Path:
    """As it would be installed, with the binary of this build."""
    unit = folder / UNIT.name
    unit.write_text(UNIT.read_text().replace(BINARY, str(HEADWAY.absolute())))
    if tls:
        (folder / f"{UNIT.name}.d").mkdir()
        shutil.copy(TLS, folder / f"{UNIT.name}.d/tls.conf")
    return unit


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@needs_systemd
@pytest.mark.parametrize("tls", [False, True])
def test_systemd_has_nothing_to_say(tmp_path: Path, tls: bool) -> None:
    done = analyze("verify", "--man=no", installed(tmp_path, tls))
    assert done.returncode == 0 and done.stdout + done.stderr == "", done.stdout + done.stderr


@needs_systemd
def test_systemd_would_notice(tmp_path: Path) -> None:
    unit = installed(tmp_path)
    unit.write_text(unit.read_text().replace("RestrictRealtime", "RestrictTime"))
    assert "RestrictTime" in analyze("verify", "--man=no", unit).stderr


@needs_systemd
def test_it_may_do_little(tmp_path: Path) -> None:
    done = analyze("security", "--offline=yes", "--no-pager", installed(tmp_path))
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert found and float(found[1]) <= EXPOSURE_MAX, done.stdout + done.stderr


def test_connections_fit() -> None:
    (text,) = re.findall(
        r"connections_max = ([\d']+)", (ROOT / "src/net/http_server.h").read_text()
    )
    connections = int(text.replace("'", ""))
    assert int(directives()["LimitNOFILE"][0]) >= connections + 1000


def test_it_is_started_again_and_stopped_gently() -> None:
    unit = directives()
    assert unit["Restart"] == ["on-failure"]
    assert unit["DynamicUser"] == ["yes"] and unit["StateDirectory"] == ["headway"]


def put_in(text: str, state: Path, variables: dict[str, str]) -> str:
    text = text.replace("%S", str(state))
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda m: variables[m[1] or m[2]], text)


def test_its_command_serves(tmp_path: Path) -> None:
    """With nothing in the environment but what the unit sets, and a port that is free."""
    (tmp_path / "headway").mkdir()
    unit = directives()
    variables: dict[str, str] = {}
    for line in unit["Environment"]:
        name, _, value = line.partition("=")
        variables[name] = put_in(value, tmp_path, {})
    assert variables["HEADWAY_LISTEN"].startswith("127.0.0.1:"), (
        "nobody else, as long as there is no token"
    )
    variables["HEADWAY_LISTEN"] = "127.0.0.1:0"
    command = shlex.split(put_in(unit["ExecStart"][0], tmp_path, variables))
    assert command[:2] == [BINARY, "serve"]
    command[0] = str(HEADWAY)
    with running(command, env=variables, stdout=subprocess.PIPE, cwd="/") as process:
        assert process.stdout is not None
        assert f"store {tmp_path}/headway/store.db" in process.stdout.readline()
        assert os.stat(tmp_path / "headway/store.db").st_size > 0
        process.terminate()
        assert process.wait(timeout=30) == 0, "systemd would start it again otherwise"
