"""What is in deploy/grafana/headway.json, for tests that have no Grafana."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from deploying import DEPLOY

FILE = DEPLOY / "grafana/headway.json"
# As Grafana puts them in: "All" of a variable is its allValue.
VARIABLES = {
    "$__rate_interval": "30s",
    "$window": "1d",
    **{f"${name}": ".*" for name in ("tenant", "family", "team", "cluster", "hardware")},
}


class Query(NamedTuple):
    where: str
    expression: str


def load() -> dict[str, Any]:
    return json.loads(FILE.read_text())


def panels() -> list[dict[str, Any]]:
    """Without rows."""
    return [panel for panel in load()["panels"] if panel["type"] != "row"]


def put_in(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = re.sub(rf"{re.escape(name)}\b", value, expression)
    return expression


def queries() -> Iterator[Query]:
    """Every expression that the dashboard asks Prometheus for."""
    for panel in panels():
        for target in panel["targets"]:
            yield Query(f"{panel['title']} {target['refId']}", put_in(target["expr"]))
    for annotation in load()["annotations"]["list"]:
        yield Query(f"annotation {annotation['name']}", put_in(annotation["expr"]))
    for variable in load()["templating"]["list"]:
        found = re.fullmatch(r"label_values\((.*), (\w+)\)", variable.get("definition", ""))
        if found:
            selector = put_in(found[1])
            yield Query(f"variable {variable['name']}", f"group by ({found[2]}) ({selector})")
