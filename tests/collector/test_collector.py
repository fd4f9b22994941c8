"""Jobs that train, a collector that is told of them, and what it says."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import time
import urllib.error
from pathlib import Path
from typing import Any

from collecting import HEADWAY, Collector
from loading import Load
from small_jobs import environment, report, without_paths

SCRIPT = """
import os, sys, time
import torch
crash = "--crash" in sys.argv and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()
    if crash and step == 20 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), 9)
    time.sleep(0.005)
"""


def start_job(folder: Path, job: str, steps: int, *words: str) -> subprocess.Popen[str]:
    script = folder / "train.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [HEADWAY, "run", "--nproc", "2", "--max-restarts", "2", "--job", job]
        + [str(script), str(steps), *words],
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_job(folder: Path, job: str, steps: int, *words: str) -> None:
    process = start_job(folder, job, steps, *words)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output


def ship(folder: Path, job: str, url: str, *words: str, token: str = "") -> dict[str, Any]:
    done = subprocess.run(
        [HEADWAY, "ship", job, "--to", url, "--json", *words],
        env=environment(folder) | ({"HEADWAY_TOKEN": token} if token else {}),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout) | {"code": done.returncode, "stderr": done.stderr}


def test_a_job_is_told_as_its_own_machine_tells_it(collector: Collector, tmp_path: Path) -> None:
    collector.start()
    run_job(tmp_path, "crashed", 60, "--crash")
    sent = ship(tmp_path, "crashed", collector.url)
    assert sent["code"] == 0 and sent["complete"] and sent["records"] > 200, sent
    told = without_paths(collector.get("/api/v1/jobs/crashed/report"))
    assert told == report(tmp_path, "crashed")
    assert len(told["attempts"]) == 2
    assert collector.get("/api/v1/jobs")["jobs"][0]["job"] == "crashed"
    # Again, by one who remembers nothing: it is all there.
    assert ship(tmp_path, "crashed", collector.url)["complete"]
    assert without_paths(collector.get("/api/v1/jobs/crashed/report")) == told
    assert collector.stop() == 0
    collector.start()
    assert without_paths(collector.get("/api/v1/jobs/crashed/report")) == told
    assert collector.serve("--check").returncode == 0


def test_a_running_job_is_followed(collector: Collector, tmp_path: Path) -> None:
    collector.start()
    job = start_job(tmp_path, "live", 800)
    folder = tmp_path / "jobs/live"
    while not list(folder.glob("*/rank-*.hwj")):
        time.sleep(0.05)
    shipper = subprocess.Popen(
        [HEADWAY, "ship", "live", "--to", collector.url, "--follow", "--json"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    )
    seen: list[int] = []
    while len(seen) < 3:
        assert job.poll() is None, job.communicate()[0]
        time.sleep(0.2)
        try:
            told = collector.get("/api/v1/jobs/live/report")
        except urllib.error.HTTPError as error:
            assert error.code == 404
            continue
        assert sum(told["l2"].values()) == told["wall_ns"]
        if told["l2"]["effective_ns"] > 0 and told["l2"]["effective_ns"] not in seen:
            assert told["state"] == "running"
            seen.append(told["l2"]["effective_ns"])
    assert seen == sorted(seen)
    assert job.wait(timeout=300) == 0
    sent = json.loads(shipper.communicate(timeout=120)[0])
    assert sent["complete"], sent
    told = without_paths(collector.get("/api/v1/jobs/live/report"))
    assert told == report(tmp_path, "live")
    assert told["state"] == "finished"


def test_who_hears_of_a_job_finds_it_in_the_list(collector: Collector) -> None:
    """A page asks for the list as soon as the stream of events names a job."""
    collector.start()
    with collector.open("/api/v1/events") as stream:
        for i in range(12):
            shape = {"jobs": 1, "ranks": 8, "steps": 40, "step-ms": 100, "prefix": f"news{i}"}
            load = Load(collector, shape | {"begin-ns": time.time_ns() - 10**10})
            for line in stream:
                if line.startswith(b"data: ") and f'"news{i}-'.encode() in line:
                    break
            assert len(collector.get(f"/api/v1/jobs?text=news{i}-")["jobs"]) == 1
            load.result()


def test_a_collector_that_is_killed_loses_nothing(collector: Collector, tmp_path: Path) -> None:
    """Ten times under load (a hundred with --full): what it has acknowledged it has."""
    kills = 100 if os.environ.get("HEADWAY_TEST_FULL") else 10
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    collector.start()
    job = start_job(tmp_path, "long", 200 * kills)
    while not list((tmp_path / "jobs/long").glob("*/rank-*.hwj")):
        time.sleep(0.05)
    shipper = subprocess.Popen(
        [HEADWAY, "ship", "long", "--to", collector.url, "--follow", "--json", "--wait", "5m"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(kills):
        time.sleep(draw.uniform(0.1, 1.5))
        collector.kill()
        collector.start()
        assert collector.get("/healthz") == {"status": "ok"}
    job.wait(timeout=600)
    output, errors = shipper.communicate(timeout=300)
    assert json.loads(output)["complete"], errors
    told = without_paths(collector.get("/api/v1/jobs/long/report"))
    assert told == report(tmp_path, "long")
    assert collector.serve("--check").returncode == 0


def test_tokens(collector: Collector, tmp_path: Path) -> None:
    collector.start()
    run_job(tmp_path, "small", 30)
    made = {
        role: json.loads(
            collector.serve("token", "add", "--role", role, "--tenant", "blue", "--json").stdout
        )
        for role in ("ingest", "read")
    }
    deadline = time.monotonic() + 30
    while True:  # until the collector has learnt that tokens are needed now
        try:
            collector.get("/api/v1/jobs")
        except urllib.error.HTTPError as error:
            assert error.code == 401
            break
        assert time.monotonic() < deadline
        time.sleep(0.2)
    refused = ship(tmp_path, "small", collector.url, "--wait", "1s")
    assert refused["code"] == 1 and "HEADWAY_TOKEN" in refused["stderr"], refused
    token = made["ingest"]["token"]
    assert ship(tmp_path, "small", collector.url, token=token)["complete"]
    told = collector.get("/api/v1/jobs/small/report", made["read"]["token"])
    assert without_paths(told) == report(tmp_path, "small")
    listed = collector.serve("token", "ls").stdout
    assert "ingest" in listed and token not in listed
    log = collector.log.read_text()
    assert '"status":401' in log and token not in log
    assert collector.serve("token", "rm", str(made["read"]["id"])).returncode == 0
    assert collector.serve("token", "rm", "77").returncode == 2
    assert "nobody is let in" not in collector.serve("token", "ls").stdout
    for role in made.values():
        collector.serve("token", "rm", str(role["id"]))
    assert "nobody is let in" in collector.serve("token", "ls").stdout, "it stays closed"


def test_what_is_wrong_is_told_in_one_line(collector: Collector, tmp_path: Path) -> None:
    collector.start()
    second = collector.serve("--listen", "127.0.0.1:0")
    assert second.returncode == 2
    assert "another collector has this store" in second.stderr
    other = ["--store", str(tmp_path / "other.db")]

    def fails(*words: str) -> str:
        done = subprocess.run(
            [HEADWAY, *words], env=environment(tmp_path), capture_output=True, text=True
        )
        assert done.returncode == 2, done
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    assert "serve token add" in fails("serve", *other, "--listen", "0.0.0.0:0")
    assert "ADDRESS:PORT" in fails("serve", *other, "--listen", "here")
    anywhere = [*other, "--listen", "127.0.0.1:0"]
    tls = ["--tls-cert", "/no.pem", "--tls-key", "/no.key"]
    assert "/no.pem: cannot be read: No such file" in fails("serve", *anywhere, *tls)
    assert "--tls-cert needs --tls-key" in fails("serve", *anywhere, *tls[:2])
    (tmp_path / "text").write_text("no certificate")
    tls = ["--tls-cert", str(tmp_path / "text"), "--tls-key", str(tmp_path / "text")]
    assert "cannot be used as a certificate" in fails("serve", *anywhere, *tls)
    said = fails("serve", "--store", "mysql://x", "--listen", "127.0.0.1:0")
    assert "mysql://x: is no store; give a file, or postgres://" in said
    assert "HEADWAY_COLLECTOR" in fails("ship", "small")
    assert "no collector's address" in fails("ship", "small", "--to", "here:1")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/nobodi").mkdir()
    said = fails("ship", "nobody", "--to", collector.url)
    assert "no such job under" in said and "there: nobodi" in said
    (tmp_path / "damaged.db").write_bytes(b"x" * 9000)
    assert "not a database" in fails("serve", "--check", "--store", str(tmp_path / "damaged.db"))


def test_back_up_while_it_runs(collector: Collector, tmp_path: Path) -> None:
    collector.start()
    run_job(tmp_path, "small", 30)
    ship(tmp_path, "small", collector.url)
    copy = tmp_path / "copy.db"
    copy.write_text("somebody's notes")
    refused = collector.serve("--back-up", str(copy))
    assert refused.returncode == 2 and "is no back-up" in refused.stderr
    assert copy.read_text() == "somebody's notes"
    copy.unlink()
    for _ in range(2):  # the second in the place of the first
        assert collector.serve("--back-up", str(copy)).returncode == 0
    for file in (copy, collector.store):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    told = collector.get("/api/v1/jobs/small/report")
    assert collector.stop() == 0
    collector.store = copy
    collector.start()
    assert collector.get("/api/v1/jobs/small/report") == told
