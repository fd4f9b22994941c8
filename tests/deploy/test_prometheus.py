"""A real Prometheus scrapes real collectors: the rules evaluate, and the dashboard has data.

One collector shows the made-up fleet to everybody; another wants a token, and is sent a
tenant's jobs while it is being scraped, so that its counters move."""

from __future__ import annotations

import datetime
import json
import math
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from dashboard import queries
from deploying import DEPLOY, HEADWAY, installed, promtool
from serving import Prometheus, collector, prometheus, ship, token, until

FOLDER = DEPLOY / "prometheus"
JOBS = 16
# There is nothing of a day or a week ago yet.
TAKES_DAYS = {
    "tenant:headway_failures:increase1d",
    "tenant:headway_failures_per_1000_device_hours:ratio1d",
    "tenant:headway_failures:expected1d",
}
PANELS_THAT_TAKE_DAYS = {"Against a week ago A"}


class Scene(NamedTuple):
    prometheus: Prometheus
    demo: str  # addresses
    research: str


def configure(folder: Path, demo: str, research: str, secret: str) -> Path:
    """The example with a second tenant; seconds in place of minutes."""
    config = yaml.safe_load((FOLDER / "scrape.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (first,) = config["scrape_configs"]
    (target,) = first["static_configs"]
    other = {
        "job_name": "headway-research",
        "authorization": first["authorization"],
        "static_configs": [
            {
                "targets": [research.removeprefix("http://")],
                "labels": {"tenant": "research", "page": research},
            }
        ],
    }
    target["targets"] = [demo.removeprefix("http://")]
    target["labels"]["page"] = demo
    config["scrape_configs"].append(other)
    rules = yaml.safe_load((FOLDER / "headway.rules.yml").read_text())
    for group in rules["groups"]:
        group.pop("interval", None)
    (folder / "headway.rules.yml").write_text(yaml.safe_dump(rules))
    (folder / other["authorization"]["credentials_file"]).write_text(secret)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    return folder / "prometheus.yml"


def feed(server: Prometheus, folder: Path, to: str, secret: str) -> None:
    """Jobs in two halves: what is there when a counter is first seen is not an increase."""
    jobs = sorted(path.name for path in folder.iterdir())
    attempts = 0
    count = 'sum(headway_fleet_attempts_total{tenant="research"})'
    for half in (jobs[::2], jobs[1::2]):
        for job in half:
            ship(folder, job, to, secret)
            attempts += len(list((folder / job).iterdir()))
        until("jobs", lambda need=attempts: server.values(count) == [need])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("prometheus")
    store, fleet = folder / "store.db", folder / "fleet"
    tool = HEADWAY.parent / "bin/write_fleet"
    subprocess.run([tool, fleet, "5", str(JOBS), "1"], check=True, capture_output=True)
    asks, sends = token(store, "read", "research"), token(store, "ingest", "research")
    nowhere = "http://127.0.0.1:9"  # an OpenTelemetry collector that is away
    with (
        collector(folder / "demo.log", "--demo", "--otlp", nowhere) as demo,
        collector(folder / "serve.log", "--store", store, "--otlp", nowhere) as research,
        prometheus(
            installed("prometheus"), folder, configure(folder, demo, research, asks)
        ) as server,
    ):
        until("both to be scraped", lambda: server.values("up == 1") == [1, 1])
        feed(server, fleet, research, sends)
        yield Scene(server, demo, research)


def all_rules(server: Prometheus) -> list[dict[str, Any]]:
    return [rule for group in server.get("rules")["groups"] for rule in group["rules"]]


def test_both_are_scraped_as_the_example_says(scene: Scene) -> None:
    targets = scene.prometheus.get("targets")["activeTargets"]
    assert {(t["labels"]["tenant"], t["health"], t["lastError"]) for t in targets} == {
        ("default", "up", ""),
        ("research", "up", ""),
    }


def test_promtool_has_nothing_to_say_of_a_real_page(scene: Scene) -> None:
    """One that has regressions, too: a made-up page has what its maker thought of."""
    older = urllib.request.Request(scene.demo + "/metrics", headers={"Accept": "text/plain"})

    def told() -> str:
        with urllib.request.urlopen(older, timeout=60) as answer:
            return answer.read().decode()

    until("a regression", lambda: "headway_fleet_time_to_alert_seconds{" in told())
    done = promtool("check", "metrics", text=told())
    assert done.returncode == 0 and done.stdout + done.stderr == "", done.stdout + done.stderr


def test_rules_evaluate_without_an_error(scene: Scene) -> None:
    def judged() -> list[dict[str, Any]]:
        rules = all_rules(scene.prometheus)
        return [] if any(rule["health"] == "unknown" for rule in rules) else rules

    rules = until("every rule", judged)
    assert len(rules) > 20
    assert [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"] == []


def test_recorded_series_exist(scene: Scene) -> None:
    names = {rule["name"] for rule in all_rules(scene.prometheus) if rule["type"] == "recording"}
    assert names > TAKES_DAYS
    for name in sorted(names - TAKES_DAYS):
        values = until(name, lambda name=name: scene.prometheus.values(name))
        assert not any(math.isnan(value) for value in values), name
    for name in TAKES_DAYS:
        scene.prometheus.samples(name)


def page_ett(address: str) -> dict[str, float]:
    """ETT% by family on the last seven days, as the page is told."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    first, after = today - datetime.timedelta(days=6), today + datetime.timedelta(days=1)
    url = f"{address}/api/v1/fleet/rollup?by=family&from={first}&to={after}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        groups = json.load(answer)["groups"]
    return {group["key"]["family"]: group["ett_pct"]["value"] for group in groups}


def test_ett_is_what_the_page_tells(scene: Scene) -> None:
    """The rules add up label sets; jobs that run move it a little between two looks."""
    expression = 'family:headway_ett:ratio7d{tenant="default"}'
    samples = until("ETT%", lambda: scene.prometheus.samples(expression))
    told = {one["metric"]["family"]: 100 * float(one["value"][1]) for one in samples}
    assert len(told) > 3
    assert told == pytest.approx(page_ett(scene.demo), abs=0.05)


def test_an_open_regression_is_an_alert_with_a_link(scene: Scene) -> None:
    def firing() -> list[dict[str, Any]]:
        alerts = scene.prometheus.get("alerts")["alerts"]
        return [one for one in alerts if one["labels"]["alertname"] == "HeadwayRegression"]

    found = until("an alert", firing)
    assert all(one["state"] == "firing" for one in found)
    assert {one["annotations"]["link"] for one in found} == {f"{scene.demo}/#/regressions"}
    by_metric = scene.prometheus.samples("headway_fleet_open_regressions > 0")
    assert {one["labels"]["component"] for one in found} == {
        one["metric"]["component"] for one in by_metric
    }


def test_what_annotations_say_is_filled_in(scene: Scene) -> None:
    for alert in scene.prometheus.get("alerts")["alerts"]:
        for text in alert["annotations"].values():
            assert not re.search(r"error|no value|\{\{", text), alert


@pytest.mark.parametrize("query", list(queries()), ids=lambda query: query.where)
def test_the_dashboard_has_data(scene: Scene, query: Any) -> None:
    if query.where in PANELS_THAT_TAKE_DAYS:
        assert scene.prometheus.samples(query.expression) == []
        return
    values = until(query.where, lambda: scene.prometheus.values(query.expression))
    assert not all(math.isnan(value) for value in values)
