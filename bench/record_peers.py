"""What it costs to record one event: Headway against what people use today.

Ours goes into a real journal, a mapped file that survives SIGKILL. The peers get the cheapest sink
they accept (see peers/): with the sinks of their users they cost more. All contestants take turns
in one process (the C++ side in a program that each round starts). Each is timed in batches of a
fraction of a millisecond, so that a busy machine disturbs few of them and all alike; a number is
the median over all batches of all rounds. Prints one JSON row a line.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers import goodput, otel

import headway as hw
from headway._recorder import core

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin/bench_record"
GOODPUT = "ml-goodput-measurement 0.2.3"
OTEL = "opentelemetry-sdk"
SPAN = "bench_span"
BATCHES = 40  # a round
Row = dict[str, Any]
Batch = Callable[[int], int]  # records so many events; ns that they took together


def ours_native() -> dict[str, Row]:
    """Everything that the C++ program measures, by name."""
    done = subprocess.run([PROGRAM], check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["name"]: row for row in rows}


def ours_record(count: int) -> int:
    step = core.step
    begin = time.perf_counter_ns()
    for i in range(count):
        step(i, None)
    return time.perf_counter_ns() - begin


def ours_span(count: int) -> int:
    begin = time.perf_counter_ns()
    for _ in range(count):
        with hw.phase(SPAN):
            pass
    return time.perf_counter_ns() - begin


def goodput_record(log: goodput.NullLog | goodput.ListLog) -> Batch:
    record = goodput.recorder(log).record_step_start_time

    def batch(count: int) -> int:
        begin = time.perf_counter_ns()
        for i in range(count):
            record(i)
        return time.perf_counter_ns() - begin

    return batch


def otel_span(exporter: otel.SpanExporter) -> Batch:
    start = otel.tracer(exporter).start_span

    def batch(count: int) -> int:
        begin = time.perf_counter_ns()
        for _ in range(count):
            start(SPAN).end()
        return time.perf_counter_ns() - begin

    return batch


# How to record, and how many events make a batch of about a third of a millisecond.
CONTESTANTS: dict[str, tuple[Batch, int]] = {
    "record": (ours_record, 5_000),
    "goodput_null": (goodput_record(goodput.NullLog()), 300),
    "goodput_list": (goodput_record(goodput.ListLog()), 300),
    "span": (ours_span, 1_500),
    "otel_null": (otel_span(otel.NullExporter()), 15),
    "otel_memory": (otel_span(otel.memory_exporter()), 15),
}

ROWS = [
    ("record_ns", "record_ns", "goodput_null", f"{GOODPUT}, entries forgotten"),
    ("record_python_ns", "record", "goodput_null", f"{GOODPUT}, entries forgotten"),
    ("record_python_list_ns", "record", "goodput_list", f"{GOODPUT}, entries into a list"),
    ("span_python_ns", "span", "otel_null", f"{OTEL}, spans forgotten"),
    ("span_python_memory_ns", "span", "otel_memory", f"{OTEL}, spans into memory"),
]


def measure(rounds: int) -> tuple[dict[str, float], dict[str, Row]]:
    """The median of each contestant, and the rows of the C++ program, for their units."""
    seen: dict[str, list[float]] = defaultdict(list)
    native: dict[str, Row] = {}
    for _ in range(rounds):
        native = ours_native()
        for name, row in native.items():
            seen[name].append(row["ours"])
        for _ in range(BATCHES):
            for name, (batch, count) in CONTESTANTS.items():
                seen[name].append(batch(count) / count)
            time.sleep(0.002)  # as between steps: the journal grows in the background
    return {name: statistics.median(values) for name, values in seen.items()}, native


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-record-") as folder:
        assert hw.init("bench", dir=folder), "the recorder did not start"
        medians, native = measure(args.rounds)
        stats = hw.stats()
    assert stats["dropped"] == 0, f"dropped, so these are not costs of records: {stats}"
    assert stats["records"] >= args.rounds * BATCHES * 8_000, stats
    for name, ours, peer, peer_name in ROWS:
        row = {"name": name, "unit": "ns", "ours": medians[ours], "peer": medians[peer]}
        print(json.dumps(row | {"peer_name": peer_name, "better": "lower"}))
    for name, row in native.items():
        if name != "record_ns":
            better = "higher" if row["unit"].endswith("/s") else "lower"
            alone = {"ours": medians[name], "peer": None, "peer_name": None, "better": better}
            print(json.dumps(row | alone))


if __name__ == "__main__":
    main()
