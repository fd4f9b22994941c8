"""Every place of the interface, asked by everybody who may and may not: two tenants, three roles,
no token, one that is wrong and one that was taken back. Nobody learns of another's jobs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from collecting import ROOT, Collector
from loading import Load, Shape

TENANTS = ("default", "blue")
ROLES = ("ingest", "read", "admin")


class Asker(NamedTuple):
    name: str
    tenant: str
    role: str
    token: str


class Fleet(NamedTuple):
    collector: Collector
    askers: list[Asker]


def secret(tenant: str) -> str:
    """In the names of a tenant's jobs, and of its machines and attributes."""
    return f"of-{tenant}"


def shape_of(tenant: str) -> Shape:
    shape: Shape = {"jobs": 2, "ranks": 8, "steps": 40, "step-ms": 100}
    return shape | {"prefix": secret(tenant), "begin-ns": time.time_ns() - 10**10}


def wait_for(collector: Collector, token: str, status: int, text: str = "") -> None:
    deadline = time.monotonic() + 60
    while True:
        told, body = collector.ask("/api/v1/jobs", token)
        if told == status and text in body:
            return
        assert time.monotonic() < deadline, (told, body)
        time.sleep(0.1)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    collector = Collector(tmp_path_factory.mktemp("tenants"))
    collector.start()

    def make(tenant: str, role: str) -> tuple[int, str]:
        words = ("--role", role, "--tenant", tenant, "--label", f"{tenant} {role}", "--json")
        made = json.loads(collector.serve("token", "add", *words).stdout)
        return made["id"], made["token"]

    removed_id, removed = make("blue", "admin")
    askers = [
        Asker(f"{tenant} {role}", tenant, role, make(tenant, role)[1])
        for tenant in TENANTS
        for role in ROLES
    ]
    wait_for(collector, "", 401)
    assert collector.serve("token", "rm", str(removed_id)).returncode == 0
    wait_for(collector, removed, 401)
    askers += [
        Asker("nobody", "", "", ""),
        Asker("a guess", "", "", "hw_" + "A" * 43),
        Asker("one taken back", "", "", removed),
    ]
    tokens = {(each.tenant, each.role): each.token for each in askers}
    for tenant in TENANTS:
        Load(collector, shape_of(tenant), "--token", tokens[tenant, "ingest"]).result()
        wait_for(collector, tokens[tenant, "read"], 200, f"{secret(tenant)}-0001")
    yield Fleet(collector, askers)
    collector.kill()


ARCHIVE = f"dlrm/{'0' * 64}/{'f' * 64}.hwc"


def places() -> list[tuple[str, str]]:
    """Method and path of all that the interface's description has, of a job of each tenant."""
    described = json.loads((ROOT / "src/collector/openapi.json").read_text())
    out: list[tuple[str, str]] = []
    for path, methods in described["paths"].items():
        for method in methods:
            filled = path.replace("{attempt}", "1").replace("{id}", "1")
            filled = filled.replace("{family}/{binding}/{file}", ARCHIVE)
            jobs = [f"{secret(tenant)}-0000" for tenant in TENANTS] if "{job}" in path else [""]
            out += [(method.upper(), filled.replace("{job}", job)) for job in jobs]
    return out


OPEN = ("/healthz", "/api/v1/openapi.json", "/")


def test_the_description_has_every_place() -> None:
    """Else the matrix below would go round what nobody has described."""
    route = (ROOT / "src/collector/route.cc").read_text()
    described = " ".join(path for _, path in places())
    names = set(re.findall(r'== "([a-z.]+)"', route)) | set(
        re.findall(r'\{"([a-z]+)", Place', route)
    )
    names -= {"api", "v1", "fleet"}
    assert len(names) > 12, names
    for name in names:
        assert name in described, name


def needed(method: str, path: str) -> str:
    if method == "DELETE":
        return "admin"
    if path.startswith(("/api/v1/ingest/", "/api/v1/caches")):
        return "ingest"
    return "admin" if path.endswith("/acknowledge") else "read"


def ask(fleet: Fleet, method: str, path: str, token: str) -> tuple[int, str]:
    """All that comes; of a stream, its first words."""
    if path == "/api/v1/events":
        return fleet.collector.first_words(path, token)
    body = b"{}" if method == "POST" else None
    return fleet.collector.ask(path, token, method, body)


@pytest.mark.parametrize(("method", "path"), places())
def test_every_place(fleet: Fleet, method: str, path: str) -> None:
    for asker in fleet.askers:
        status, said = ask(fleet, method, path, asker.token)
        what = (asker.name, method, path, status, said[:300])
        for tenant in TENANTS:
            # The name that was asked for may come back with "there is no such job".
            named = f"{secret(tenant)}-0" in said and secret(tenant) not in path
            assert tenant == asker.tenant or not named, what
        if path in OPEN:
            assert status == 200, what
        elif not asker.tenant:
            assert status in (401, 429), what
        elif asker.role not in (needed(method, path), "admin"):
            assert status == 403, what
        elif "jobs/of-" in path and secret(asker.tenant) not in path:
            assert status == 404 and "there is no job" in said, what
        else:
            assert status not in (401, 403, 429, 503), what
            # A tenant's own place is not empty: the matrix is of something.
            if method == "GET" and path != "/api/v1/events" and ARCHIVE not in path:
                assert status == 200, what
        if path == "/api/v1/jobs" and status == 200:
            assert f"{secret(asker.tenant)}-0000" in said, what


def test_the_collectors_own_counts_are_its_owners(fleet: Fleet) -> None:
    """What all tenants together send is told to the tenant `default` alone."""
    for asker in fleet.askers:
        if asker.role not in ("read", "admin"):
            continue
        own = asker.tenant == "default"
        status = json.loads(fleet.collector.ask("/api/v1/status", asker.token)[1])
        assert status["tenant"] == asker.tenant and status["jobs"] == 2
        assert ("records" in status, "batches" in status, "jobs_in_mind" in status) == (own,) * 3
        metrics = fleet.collector.ask("/metrics", asker.token)[1]
        assert ("headway_collector_" in metrics) == own
        assert "headway_fleet_" in metrics


def test_roll_ups_are_of_ones_own(fleet: Fleet) -> None:
    for asker in fleet.askers:
        if asker.role not in ("read", "admin"):
            continue
        total = json.loads(fleet.collector.ask("/api/v1/fleet/rollup", asker.token)[1])["total"]
        assert total["attempts"] == 2, (asker.name, total)


def test_a_stream_ends_with_its_token(fleet: Fleet, tmp_path: Path) -> None:
    made = json.loads(fleet.collector.serve("token", "add", "--role", "read", "--json").stdout)
    wait_for(fleet.collector, made["token"], 200)
    with fleet.collector.open("/api/v1/events", made["token"]) as stream:
        assert stream.readline() == b"retry: 2000\n"
        assert fleet.collector.serve("token", "rm", str(made["id"])).returncode == 0
        while stream.readline():  # until it is over
            pass
    assert fleet.collector.ask("/api/v1/jobs", made["token"])[0] in (401, 429)
