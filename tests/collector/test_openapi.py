"""The API against its own description, which schemathesis and this file take at its word.

A made-up fleet with jobs that run, and a token of each role. What is made up at random is seeded,
and the seed printed; HEADWAY_TEST_SEED takes one again.
"""

from __future__ import annotations

import copy
import http.client
import importlib.util
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from collecting import DemoCollector
from loading import memory_mib

HERE = Path(__file__).resolve().parent
FULL = bool(os.environ.get("HEADWAY_TEST_FULL"))
EXAMPLES = 150 if FULL else 8  # of each operation, besides those at every limit
GROWTH_MIB_MAX = 512
NOBODY = "hw_" + "A" * 43
Json = dict[str, Any]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("schemathesis") is None, reason="no schemathesis here"
)
peers = itertools.count(1)  # an address that is wrong ten times has to wait: each is another one

CACHES = "/api/v1/caches"


@dataclass
class Api:
    collector: DemoCollector
    document: Json
    job: str
    failed_job: str
    regression: int
    tokens: dict[str, str]  # by role
    stranger: str  # an admin of another tenant

    def operations(self) -> Iterator[tuple[str, str, Json]]:
        """But those of compile caches, which a made-up fleet does not share: they are asked for in
        test_tenants.py and src/collector/cache_room_test.cc."""
        for path, item in self.document["paths"].items():
            if path.startswith(CACHES):
                continue
            for method, operation in item.items():
                yield path, method.upper(), operation

    def fill(self, path: str, job: str = "") -> str:
        path = path.replace("{job}", job or self.job).replace("{attempt}", "1")
        return path.replace("{id}", str(self.regression))

    def ask(
        self, method: str, path: str, authorization: str | None, **more: str
    ) -> tuple[int, Json, bytes]:
        """The status, the headers, and of the body what is soon said: a stream does not end.
        `more`: headers; a length that they tell of is told, and no byte of it sent."""
        peer = f"127.2.{next(peers) // 250}.{next(peers) % 250 + 1}"
        client = http.client.HTTPConnection(
            "127.0.0.1", self.collector.port, timeout=60, source_address=(peer, 0)
        )
        try:
            headers = {} if authorization is None else {"Authorization": authorization}
            body = b"{}" if method == "POST" and not more else None
            client.request(method, path, body, headers | more)
            answer = client.getresponse()
            stream = answer.getheader("Content-Type") == "text/event-stream"
            body = answer.readline() if stream else answer.read()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, body
        finally:
            client.close()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    collector = DemoCollector(tmp_path_factory.mktemp("api"))
    collector.start()

    def add(role: str, tenant: str) -> str:
        done = collector.serve("token", "add", "--role", role, "--tenant", tenant, "--json")
        return json.loads(done.stdout)["token"]

    try:
        jobs = collector.get("/api/v1/jobs?limit=1000")["jobs"]
        made = Api(
            collector,
            document=collector.get("/api/v1/openapi.json"),
            job=jobs[0]["job"],
            failed_job=max(jobs, key=lambda job: job["failures"])["job"],
            regression=collector.get("/api/v1/regressions")["regressions"][0]["id"],
            tokens={role: add(role, "default") for role in ("ingest", "read", "admin")},
            stranger=add("admin", "elsewhere"),
        )
        deadline = time.monotonic() + 30
        while collector.ask("/api/v1/jobs")[0] != 401:  # until it has learnt of the tokens
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield made
        assert collector.stop() == 0
    finally:
        assert collector.process is not None
        if collector.process.poll() is None:
            collector.kill()


def closed(value: Any) -> Any:
    """The same schema, but that it knows all fields: an answer with one more is no answer of it.
    The description leaves that open, so that whoever reads an answer does, too."""
    if isinstance(value, list):
        return [closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    out = {name: closed(each) for name, each in value.items()}
    if isinstance(out.get("properties"), dict):
        out.setdefault("additionalProperties", False)
    return out


def strict(document: Json) -> Json:
    """Of a collector that has tokens: what may be left out elsewhere may not be here."""
    out = copy.deepcopy(document)
    for path in [path for path in out["paths"] if path.startswith(CACHES)]:
        del out["paths"][path]
    for item in out["paths"].values():
        for operation in item.values():
            operation["security"] = [each for each in operation["security"] if each]
            operation["responses"] = closed(operation["responses"])
    out["components"] = closed(out["components"])
    return out


def test_what_is_asked_at_random_is_answered_as_described(api: Api, tmp_path: Path) -> None:
    """By schemathesis, with all its checks: of what is right and of what is not, at every limit and
    in between, with tokens and without. It leaves the collector as it was, and not much larger."""
    seed = int(os.environ.get("HEADWAY_TEST_SEED") or random.randrange(1 << 32))
    print(f"seed {seed}")
    (tmp_path / "openapi.json").write_text(json.dumps(strict(api.document)))
    before_mib = memory_mib(api.collector)
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli"]
        + ["--config-file", str(HERE / "openapi.toml"), "run", "openapi.json"]
        + ["--url", api.collector.url, "--seed", str(seed), "--max-examples", str(EXAMPLES)]
        + ["--report", "json", "--report-json-path", "report.json"],
        cwd=tmp_path,
        env=os.environ
        | {
            "HEADWAY_ADMIN_TOKEN": api.tokens["admin"],
            "NO_COLOR": "1",
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stdout}"
    report = json.loads((tmp_path / "report.json").read_text())
    labels = {f"{method} {path}" for path, method, _ in api.operations()}
    assert report["complete"] and report["operations"]["tested"] == len(labels), report
    assert all(each["status"] == "success" for each in report["phases"].values()), report["phases"]
    # Each was answered well at least once, too: what is always refused is checked for little.
    accepted = {
        label
        for label, phases in report["valid_rates"].items()
        if any(phase["accepted"] for phase in phases.values())
    }
    assert accepted == labels, labels - accepted
    assert api.collector.get("/healthz") == {"status": "ok"}
    assert api.collector.get(f"/api/v1/jobs/{api.job}/report", api.tokens["read"])["job"] == api.job
    assert memory_mib(api.collector) < before_mib + GROWTH_MIB_MAX


def test_nothing_answers_without_the_right(api: Api) -> None:
    """Every place, asked with no token, with what is none, and with one for something else."""
    admin = api.tokens["admin"]
    wrong = [None, "", "Bearer", "Bearer ", f"Bearer {NOBODY}", f"Bearer {admin[:-1]}"]
    wrong += [f"Bearer {admin}x", f"Basic {admin}", admin]
    for path, method, operation in api.operations():
        target = api.fill(path, "intruder" if "ingest" in path else "")
        if operation["security"] == []:
            assert api.ask(method, target, None)[0] == 200, path
            continue
        for authorization in wrong:
            status, headers, body = api.ask(method, target, authorization)
            assert status == 401, (path, authorization, body)
            assert headers["www-authenticate"] == "Bearer"
            assert list(json.loads(body)) == ["error"], body
        [needed] = operation["security"][0]["token"]
        for role, token in api.tokens.items():
            status, _, body = api.ask(method, target, f"Bearer {token}")
            if role in (needed, "admin"):
                assert status in (200, 400), (path, role, body)
            else:
                assert status == 403 and list(json.loads(body)) == ["error"], (path, role, body)
    assert api.collector.ask("/api/v1/jobs/intruder/report", admin)[0] == 404


def test_more_than_a_place_takes_is_refused_before_it_is_read(api: Api) -> None:
    """Bodies and heads that are too long, at every place."""
    limits = {"acknowledge": 8192, "ingest": 12 << 20}
    read = f"Bearer {api.tokens['admin']}"
    for path, method, operation in api.operations():
        most = limits.get(operation["operationId"], 0)
        told = str(most + 1)
        status, _, body = api.ask(method, api.fill(path), read, **{"Content-Length": told})
        assert status == 413 and list(json.loads(body)) == ["error"], (path, body)
        if operation["security"]:  # not even that is told to others
            assert api.ask(method, api.fill(path), None, **{"Content-Length": told})[0] == 401
        status, _, body = api.ask(method, api.fill(path), read, **{"X-Long": "x" * (20 << 10)})
        assert status == 431 and list(json.loads(body)) == ["error"], (path, body)


def test_the_head_alone_is_that_of_the_answer(api: Api) -> None:
    """Nothing follows it, and whoever asked is let go, also where the answer would have no end."""
    authorization = f"Bearer {api.tokens['admin']}"
    for path, method, operation in api.operations():
        if method != "GET":
            continue
        lines = [f"HEAD {api.fill(path)} HTTP/1.1", "Host: x", f"Authorization: {authorization}"]
        said = b""
        with socket.create_connection(("127.0.0.1", api.collector.port), timeout=60) as client:
            client.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
            while said.count(b"\r\n\r\n") == 0 or said.endswith(b"\r\n\r\n"):
                part = client.recv(65536)
                if not part:
                    break
                said += part
        assert said.startswith(b"HTTP/1.1 200 ") and said.endswith(b"\r\n\r\n"), (path, said)
        kinds = operation["responses"]["200"]["content"]
        assert any(f"Content-Type: {kind}".encode() in said for kind in kinds), (path, said)


def test_another_tenant_is_told_of_nothing(api: Api) -> None:
    """Its administrator knows the names of a job and a regression, and learns no more."""
    names = [job["job"] for job in api.collector.get("/api/v1/jobs", api.tokens["read"])["jobs"]]
    for path, method, operation in api.operations():
        if operation["security"] == [] or "ingest" in path:
            continue
        status, _, body = api.ask(method, api.fill(path), f"Bearer {api.stranger}")
        if "{job}" in path:
            assert status == 404, (path, body)
        elif method == "GET":
            assert status == 200, (path, body)
        assert not [name for name in names if f'"{name}"'.encode() in body], (path, body)
    note = json.dumps({"by": "a stranger"}).encode()
    client = http.client.HTTPConnection("127.0.0.1", api.collector.port, timeout=60)
    client.request(
        "POST",
        f"/api/v1/regressions/{api.regression}/acknowledge",
        note,
        {"Authorization": f"Bearer {api.stranger}"},
    )
    assert client.getresponse().status == 404
    client.close()


# What an answer may lack.
OPTIONAL = {"compile_cache", "gone_ns", "back_ns", "announcement", "at_ns"}
OPTIONAL |= {"jobs_in_mind", "batches", "records"}  # told to one tenant
# Objects whose names are the user's.
MAPS = {"key", "stratum", "attrs", "spans", "restarts"}


def lacking(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every way to leave one field out, with its name."""
    if isinstance(value, dict):
        for field in value:
            rest = {key: each for key, each in value.items() if key != field}
            if field not in OPTIONAL and name not in MAPS:
                yield field, rest
            for place, spoilt in lacking(value[field], field):
                yield f"{field}/{place}", rest | {field: spoilt}
    elif isinstance(value, list):
        for i, each in enumerate(value):
            for place, spoilt in lacking(each, name):
                yield f"{i}/{place}", [*value[:i], spoilt, *value[i + 1 :]]


def shortened(value: Any) -> Any:
    if isinstance(value, list):
        return [shortened(each) for each in value[:2]]
    if isinstance(value, dict):
        return {name: shortened(each) for name, each in value.items()}
    return value


def test_a_field_that_is_missing_is_noticed(api: Api) -> None:
    """The description holds the server to all that it says: were any field of any answer left out,
    or one added, the answer would be none of it."""
    import jsonschema_rs

    document = strict(api.document)
    fields = 0
    for path, method, operation in api.operations():
        content = operation["responses"]["200"]["content"]
        if method != "GET" or "application/json" not in content or path.endswith("openapi.json"):
            continue
        schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
        validator = jsonschema_rs.Draft202012Validator(
            schema["schema"] | {"components": document["components"]}
        )
        query = "?by=team" if path.endswith(("rollup", "trend")) else ""
        answer = api.collector.get(api.fill(path, api.failed_job) + query, api.tokens["admin"])
        validator.validate(answer)
        answer = shortened(answer)
        validator.validate(answer)
        assert not validator.is_valid(answer | {"news": 1}), path
        for place, spoilt in lacking(answer):
            assert not validator.is_valid(spoilt), f"{path} without {place}"
            fields += 1
    assert fields > 300, fields
