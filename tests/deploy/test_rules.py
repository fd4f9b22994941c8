"""Prometheus' rules and an example of its configuration, judged by promtool."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from deploying import DEPLOY, ROOT, page, promtool

FOLDER = DEPLOY / "prometheus"
RULES = FOLDER / "headway.rules.yml"
TESTS = sorted(FOLDER.glob("*_test.yml"))
VIEWS = set(re.findall(r'"(\w+)"', (ROOT / "web/src/state/query.ts").read_text().split("\n\n")[1]))
# Of Prometheus itself.
BUILT_IN = {"up", "ALERTS"}


@functools.cache
def rules() -> list[dict[str, Any]]:
    return [
        rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
    ]


def alerts() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def clean(*arguments: str) -> None:
    done = promtool(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_are_rules() -> None:
    clean("check", "rules", str(RULES))


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    for file in (FOLDER / "scrape.yml", RULES):
        shutil.copy(file, tmp_path)
    (tmp_path / "headway.token").write_text("secret")
    clean("check", "config", str(tmp_path / "scrape.yml"))


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_rules_do_what_they_should(file: Path) -> None:
    clean("test", "rules", str(file))


def judged() -> Iterator[tuple[str, bool]]:
    """(alert, whether it fires) for each expectation in the tests of rules."""
    for file in TESTS:
        for test in yaml.safe_load(file.read_text())["tests"]:
            for expected in test["promql_expr_test"]:
                found = re.search(r'alertname=(~?)"([^"]+)"', expected["expr"])
                if found is None:
                    continue
                pattern = found[2] if found[1] else re.escape(found[2])
                told = " ".join(sample["labels"] for sample in expected["exp_samples"])
                for name in filter(re.compile(pattern).fullmatch, alerts()):
                    by_name = f'alertname="{name}"' in told or "alertname" not in told
                    yield name, bool(expected["exp_samples"]) and by_name


def test_every_alert_has_a_case_that_fires_and_one_that_does_not() -> None:
    cases = set(judged())
    missing = {(name, fires) for name in alerts() for fires in (True, False)} - cases
    assert not missing


@pytest.mark.parametrize("name", alerts())
def test_an_alert_says_what_to_do(name: str) -> None:
    rule = alerts()[name]
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    told = rule["annotations"]
    assert set(told) == {"summary", "description", "link"}
    assert len(told["summary"]) < 140 and "\n" not in told["summary"]
    assert len(told["description"]) > 80
    view = re.match(r"\{\{ \$labels\.page \}\}/#/(\w+)", told["link"])
    assert view and view[1] in VIEWS, "the page has such a view"


def test_only_what_is_exported_is_used() -> None:
    """Names of metrics in all expressions are on the page of a collector, or recorded here."""
    known = set(re.findall(r"^([a-z_]+)[ {]", page("prometheus"), re.MULTILINE)) | BUILT_IN
    known |= {rule["record"] for rule in rules() if "record" in rule}
    for rule in rules():
        for metric in re.findall(r"\b(?:\w+:)?headway_[\w:]+|\bup\b", rule["expr"]):
            assert metric in known, f"{rule.get('alert', rule.get('record'))} asks for {metric}"
