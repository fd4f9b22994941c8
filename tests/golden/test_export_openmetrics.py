"""The OpenMetrics export, read by the parser of Prometheus' own client."""

import json
import math
import os
import subprocess
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/headway"))
GOLDEN = Path(__file__).parent
JOBS = sorted(GOLDEN.glob("*.jsonl"))


def output(*arguments: str, text: str) -> str:
    command = [HEADWAY, *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def check(text: str, job: str) -> None:
    exported = output("export", "-", "--format", "openmetrics", text=text)
    families = list(text_string_to_metric_families(exported))
    samples = [sample for family in families for sample in family.samples]
    assert {sample.labels["job"] for sample in samples} == {job}
    assert len({(s.name, *sorted(s.labels.items())) for s in samples}) == len(samples)
    report = json.loads(output("report", "-", "--json", text=text))
    times = [s.value for s in samples if s.name == "headway_job_time_seconds_total"]
    assert math.isclose(sum(times), report["wall_ns"] / 1e9, rel_tol=1e-12)


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_prometheus_reads_it(path: Path) -> None:
    text = path.read_text()
    check(text, json.loads(text.splitlines()[0])["job"])


def test_names_that_need_escaping() -> None:
    job = 'a "b" \\ \n\u00fc {x="y"}'
    rows = [
        {"t_ns": 1, "job": job, "attempt": 1, "type": "begin", "phase": 'o"\\n'},
        {"t_ns": 5, "job": job, "attempt": 1, "type": "end", "phase": 'o"\\n'},
        {"t_ns": 9, "job": job, "attempt": 1, "type": "mark", "name": "exit"},
    ]
    check("".join(json.dumps(row) + "\n" for row in rows), job)
