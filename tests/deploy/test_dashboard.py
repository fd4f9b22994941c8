"""The Grafana dashboard as a document; that its queries mean something says test_prometheus.py."""

from __future__ import annotations

import itertools
import re
from typing import Any

from dashboard import load, panels, put_in, queries

COLUMNS = 24
# https://grafana.com/docs: names of panels and units that every Grafana since 9 has.
KINDS = {"bargauge", "row", "stat", "timeseries"}
UNITS = {"bytes", "ops", "percentunit", "reqps", "s", "short"}


def test_it_is_a_dashboard_of_a_recent_grafana() -> None:
    document = load()
    assert document["schemaVersion"] >= 39
    assert document["title"] == "Headway" and re.fullmatch(r"[a-z0-9-]{1,40}", document["uid"])
    assert "id" not in document, "the Grafana that imports it gives it one"
    assert "__inputs" not in document, "the variable `datasource` asks, not the import"


def test_panels_have_numbers_of_their_own() -> None:
    numbers = [panel["id"] for panel in load()["panels"]]
    assert len(set(numbers)) == len(numbers)


def test_panels_do_not_lie_on_each_other() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in load()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= COLUMNS, panel["title"]
        cells = itertools.product(
            range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        )
        for cell in cells:
            assert cell not in taken, f"{panel['title']} lies on {taken.get(cell)}"
            taken[cell] = panel["title"]


def test_panels_say_what_they_show() -> None:
    titles = [panel["title"] for panel in load()["panels"]]
    assert len(set(titles)) == len(titles)
    for panel in panels():
        assert panel["type"] in KINDS, panel["title"]
        assert len(panel["description"]) > 20 and panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert panel["targets"], panel["title"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)
        assert all(target["legendFormat"] for target in panel["targets"]), panel["title"]


def sources(value: Any) -> list[Any]:
    if isinstance(value, dict):
        inner = [one for key, each in value.items() if key != "datasource" for one in sources(each)]
        own = [value["datasource"]] if "datasource" in value else []
        return own + inner
    return [one for each in value for one in sources(each)] if isinstance(value, list) else []


def test_everything_asks_the_chosen_prometheus() -> None:
    document = load()
    assert document["templating"]["list"][0]["type"] == "datasource"
    found = sources(document)
    assert len(found) > len(panels())
    assert all(one == {"type": "prometheus", "uid": "${datasource}"} for one in found)


def test_variables_choose() -> None:
    variables = {one["name"]: one for one in load()["templating"]["list"]}
    for name in ("tenant", "family", "team", "cluster", "hardware"):
        one = variables[name]
        assert one["multi"] and one["includeAll"]
        assert one["allValue"] == ".*", "an empty label is one of all"
    used = set(re.findall(r"\$(\w+)", " ".join(t["expr"] for p in panels() for t in p["targets"])))
    assert used - {"__rate_interval"} <= set(variables)


def test_every_variable_is_put_in() -> None:
    for query in queries():
        assert "$" not in query.expression, query
    assert put_in("$windows") == "$windows", "only whole names"


def test_what_was_asked_for_is_there() -> None:
    text = " ".join(panel["title"].lower() for panel in panels())
    for subject in (
        "ett% by family",
        "time to start",
        "time to recover",
        "unsaved training time",
        "checkpoint time",
        "failures by category",
        "devices by what they do",
        "collectors that answer",
    ):
        assert subject in text
