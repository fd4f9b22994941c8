"""The stand-in collector of the page's tests says nothing that a real one would not: each of its
answers is held against the interface's description, which the collector's own tests hold it to."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
DESCRIPTION: dict[str, Any] = json.loads((ROOT / "src/collector/openapi.json").read_text())

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js: ./dev setup")

DAYS = "from_a=2026-09-20&to_a=2026-10-20&from_b=2026-10-20&to_b=2026-11-19"
QUESTIONS = {
    "/api/v1/status": [""],
    "/api/v1/fleet/dimensions": [""],
    "/api/v1/fleet/rollup": ["", "by=day", "by=family", "by=family,team&weight=job"],
    "/api/v1/fleet/trend": ["metric=ett_pct", "metric=time_to_start_s&by=family"],
    "/api/v1/fleet/losses": [""],
    "/api/v1/fleet/failures": [""],
    "/api/v1/fleet/hosts": [""],
    "/api/v1/fleet/waterfall": [f"{DAYS}&split=component", f"{DAYS}&split=lever"],
    "/api/v1/regressions": ["state=open", "state=all"],
    "/api/v1/jobs": ["limit=5"],
    "/api/v1/jobs/{job}/report": [""],
    "/api/v1/jobs/{job}/timeline": ["slices=50"],
    "/api/v1/jobs/{job}/advice": [""],
}


@pytest.fixture(scope="module")
def fixture() -> Iterator[str]:
    process = subprocess.Popen(
        ["node", "test/fixture/server.mjs", "0"], cwd=WEB, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "fixture collector on" in line, line
        yield line.split()[-1]
    finally:
        process.kill()
        process.wait()


def unpacked(body: bytes) -> bytes:
    return gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body


TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
# What the description says with; another word would not be looked at, so it is refused.
WORDS = {
    *("type", "properties", "required", "items", "enum", "additionalProperties", "$ref"),
    *("description", "anyOf", "oneOf", "minimum", "maximum", "const", "format", "examples"),
}


def is_of(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])


def wrong_in(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    """What of a value is not as described, or not described at all."""
    assert set(schema) <= WORDS, f"{where}: {set(schema) - WORDS} is not looked at here"
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        yield from wrong_in(value, DESCRIPTION["components"]["schemas"][name], where)
        return
    for choice in ("anyOf", "oneOf"):
        told = [list(wrong_in(value, one, where)) for one in schema.get(choice, [])]
        if told and all(told):
            yield from min(told, key=len)
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_of(value, name) for name in names):
        yield f"{where}: {json.dumps(value)[:80]} is no {' or '.join(names)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if isinstance(value, list) and "items" in schema:
        for n, each in enumerate(value[:200]):
            yield from wrong_in(each, schema["items"], f"{where}[{n}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (
            f"{where}: no {name}" for name in schema.get("required", []) if name not in value
        )
        rest = schema.get("additionalProperties", True)
        for name, each in value.items():
            if name in known:
                yield from wrong_in(each, known[name], f"{where}.{name}")
            elif isinstance(rest, dict):
                yield from wrong_in(each, rest, f"{where}.{name}")
            elif known:
                yield f"{where}: {name} is not described"


@pytest.mark.parametrize("path", sorted(QUESTIONS))
def test_answers_are_as_the_interface_says(fixture: str, path: str) -> None:
    with urllib.request.urlopen(f"{fixture}/api/v1/jobs?limit=1") as answer:
        job = json.loads(unpacked(answer.read()))["jobs"][0]["job"]
    answer_of = DESCRIPTION["paths"][path]["get"]["responses"]["200"]
    schema = answer_of["content"]["application/json"]["schema"]
    for question in QUESTIONS[path]:
        with urllib.request.urlopen(f"{fixture}{path.format(job=job)}?{question}") as answer:
            told = json.loads(unpacked(answer.read()))
        wrong = list(wrong_in(told, schema, f"{path}?{question}"))
        assert not wrong, "\n".join(wrong[:20])


def test_all_of_the_interface_is_asked() -> None:
    told = {
        path
        for path, place in DESCRIPTION["paths"].items()
        if "application/json"
        in place.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
    }
    # The page asks for none of these.
    assert told - set(QUESTIONS) == {"/api/v1/openapi.json", "/healthz", "/api/v1/caches"}
