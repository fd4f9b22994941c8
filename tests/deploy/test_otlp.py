"""What is sent to an OpenTelemetry collector, read by the protocol's own classes."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deploying import HEADWAY, ROOT, TOOL

trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
metrics_service = pytest.importorskip(
    "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2"
)
metrics_proto = pytest.importorskip("opentelemetry.proto.metrics.v1.metrics_pb2")
trace_proto = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")

GOLDEN = ROOT / "tests/golden"
ZERO_NS = 1794778800 * 10**9  # 2026-11-15T21:40:00Z, where the golden jobs begin


class Receiver(http.server.ThreadingHTTPServer):
    """Takes what it is sent; answers by a script, then with 200."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[tuple[str, dict[str, str], bytes, int]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def taken(self, path: str) -> list[bytes]:
        return [body for at, _, body, status in self.requests if at == path and status == 200]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        status, headers, answer = (
            self.server.script.pop(0) if self.server.script else (200, {}, b"")
        )
        fields = {key.lower(): value for key, value in self.headers.items()}
        self.server.requests.append((self.path, fields, body, status))
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(answer))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def send(receiver: Receiver, job: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [TOOL, "otlp", receiver.url, GOLDEN / f"{job}.jsonl"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout)


def spans_of(bodies: list[bytes]) -> list[Any]:
    spans = []
    for body in bodies:
        request = trace_service.ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            names = {a.key: a.value.string_value for a in resource.resource.attributes}
            assert names["service.name"] == "headway"
            for scope in resource.scope_spans:
                assert (scope.scope.name, scope.scope.version) == ("headway", "1.2.3")
                spans += scope.spans
    return spans


def value(attributes: Any, key: str) -> Any:
    (found,) = [a.value for a in attributes if a.key == key]
    return getattr(found, found.WhichOneof("value"))


def test_a_job_is_a_tree_of_spans(receiver: Receiver) -> None:
    counts = send(receiver, "crash_replay")
    spans = spans_of(receiver.taken("/v1/traces"))
    assert counts["spans"] == {"sent": len(spans), "rejected": 0, "refused": 0, "dropped": 0}
    assert len({s.span_id for s in spans}) == len(spans)
    assert len({s.trace_id for s in spans}) == 1
    assert {len(s.span_id) for s in spans} == {8} and len(spans[0].trace_id) == 16
    by_id = {s.span_id: s for s in spans}
    (job,) = [s for s in spans if not s.parent_span_id]
    assert job.name == "job crash_replay"
    depth = {"job": 0, "attempt": 0, "stage": 0}
    for span in spans:
        if span is job:
            depth["job"] += 1
        elif by_id[span.parent_span_id] is job:
            depth["attempt"] += 1
        else:
            assert by_id[span.parent_span_id].parent_span_id == job.span_id
            depth["stage"] += 1
        assert span.kind == trace_proto.Span.SPAN_KIND_INTERNAL
        assert span.start_time_unix_nano <= span.end_time_unix_nano
    assert depth["job"] == 1 and depth["attempt"] == 2 and depth["stage"] >= 6


def test_times_are_exact(receiver: Receiver) -> None:
    send(receiver, "crash_replay")
    spans = spans_of(receiver.taken("/v1/traces"))
    by_name = {s.name: s for s in spans}
    # tests/golden/README.md says what the job did when.
    job = by_name["job crash_replay"]
    assert (job.start_time_unix_nano, job.end_time_unix_nano) == (ZERO_NS, ZERO_NS + 784 * 10**9)
    report = json.loads(
        subprocess.run(
            [HEADWAY, "report", GOLDEN / "crash_replay.jsonl", "--json"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    assert value(job.attributes, "headway.wall_ns") == report["wall_ns"]
    assert value(job.attributes, "headway.failure_ns") == report["failure_ns"]
    for attempt in ("attempt 1", "attempt 2"):
        parent = by_name[attempt]
        stages = [s for s in spans if s.parent_span_id == parent.span_id]
        edges = [parent.start_time_unix_nano]
        for stage in sorted(stages, key=lambda s: s.start_time_unix_nano):
            assert stage.start_time_unix_nano == edges[-1]
            edges.append(stage.end_time_unix_nano)
        assert edges[-1] == parent.end_time_unix_nano


def test_a_failure_is_an_event(receiver: Receiver) -> None:
    send(receiver, "crash_replay")
    spans = {s.name: s for s in spans_of(receiver.taken("/v1/traces"))}
    failed = spans["attempt 1"]
    assert failed.status.code == trace_proto.Status.STATUS_CODE_ERROR
    (event,) = failed.events
    assert event.name == "headway.failure"
    assert event.time_unix_nano == ZERO_NS + 400 * 10**9
    assert value(event.attributes, "headway.failure.origin") == "infra"
    assert spans["attempt 2"].status.code == trace_proto.Status.STATUS_CODE_UNSET
    assert value(spans["attempt 2"].attributes, "headway.time_to_recover_ns") == 22 * 10**9


def test_identifiers_stay_the_same(receiver: Receiver) -> None:
    send(receiver, "crash_replay")
    first = [
        (s.trace_id, s.span_id, s.parent_span_id) for s in spans_of(receiver.taken("/v1/traces"))
    ]
    receiver.requests.clear()
    send(receiver, "crash_replay")
    again = [
        (s.trace_id, s.span_id, s.parent_span_id) for s in spans_of(receiver.taken("/v1/traces"))
    ]
    assert again == first
    receiver.requests.clear()
    send(receiver, "requeue")
    other = {s.trace_id for s in spans_of(receiver.taken("/v1/traces"))}
    assert other.isdisjoint({trace for trace, _, _ in first})


def test_a_receiver_that_says_later_gets_everything(receiver: Receiver) -> None:
    receiver.script = [(429, {"Retry-After": "1"}, b""), (503, {}, b"")]
    counts = send(receiver, "crash_replay")
    assert counts["retries"] == 2 and counts["waiting"] == 0
    assert counts["spans"]["sent"] == len(spans_of(receiver.taken("/v1/traces")))
    assert [status for *_, status in receiver.requests].count(200) == len(receiver.requests) - 2
    bodies = [body for _, _, body, _ in receiver.requests]
    assert bodies[0] == bodies[1] == bodies[2], "the same again"


def test_what_is_refused_and_what_is_taken_in_part(receiver: Receiver) -> None:
    partial = trace_service.ExportTraceServiceResponse()
    partial.partial_success.rejected_spans = 2
    partial.partial_success.error_message = "too old"
    receiver.script = [(404, {}, b""), (200, {}, partial.SerializeToString()), (400, {}, b"")]
    counts = send(receiver, "crash_replay")
    assert counts["points"]["sent"] == 0 and counts["points"]["refused"] > 0
    assert counts["spans"]["rejected"] == 2 and counts["spans"]["refused"] > 0
    assert counts["retries"] == 0 and counts["waiting"] == 0


def test_headers_go_along(receiver: Receiver) -> None:
    send(receiver, "normal", OTEL_EXPORTER_OTLP_HEADERS="api-key=se%20cret,x-scope=a")
    for _, headers, _, _ in receiver.requests:
        assert headers["content-type"] == "application/x-protobuf"
        assert (headers["api-key"], headers["x-scope"]) == ("se cret", "a")


def test_metrics_are_the_same_as_on_the_page(receiver: Receiver) -> None:
    from deploying import page
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    send(receiver, "normal")
    (body,) = receiver.taken("/v1/metrics")
    request = metrics_service.ExportMetricsServiceRequest.FromString(body)
    sent = {m.name: m for m in request.resource_metrics[0].scope_metrics[0].metrics}
    families = list(text_string_to_metric_families(page("openmetrics")))
    assert len(sent) == len(families)
    device = sent["headway.fleet.device"]
    assert device.unit == "s" and device.sum.is_monotonic
    assert device.sum.aggregation_temporality == metrics_proto.AGGREGATION_TEMPORALITY_CUMULATIVE
    start = sent["headway.fleet.time_to_start"].histogram
    assert all(
        sum(p.bucket_counts) == p.count and len(p.bucket_counts) == len(p.explicit_bounds) + 1
        for p in start.data_points
    )
    for family in families:
        name = family.name.removesuffix("_seconds").removesuffix("_ratio").removesuffix("_bytes")
        metric = sent[name.replace("_", ".", 2)]
        points = {
            tuple(sorted((a.key, a.value.string_value) for a in p.attributes)): p
            for p in getattr(metric, metric.WhichOneof("data")).data_points
        }
        if family.type == "histogram":
            continue
        assert len(points) == len(family.samples)
        for sample in family.samples:
            point = points[tuple(sorted(sample.labels.items()))]
            number = getattr(point, point.WhichOneof("value"))
            assert number == pytest.approx(sample.value, rel=1e-12)
            since = point.start_time_unix_nano
            assert since == (5 if family.type == "counter" else 0)


def test_a_file_of_json_says_the_same(receiver: Receiver, tmp_path: Path) -> None:
    """OTLP/JSON has identifiers in hexadecimal digits, where protocol buffers' JSON has base64."""
    import base64

    from google.protobuf import json_format

    out = tmp_path / "job.jsonl"
    command = [HEADWAY, "export", GOLDEN / "crash_replay.jsonl", "--format", "otlp", "-o", out]
    subprocess.run(command, check=True)
    spans = []
    for line in out.read_text().splitlines():
        request = json.loads(line)
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for key in ("traceId", "spanId", "parentSpanId"):
                if key in span:
                    span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        parsed = json_format.ParseDict(request, trace_service.ExportTraceServiceRequest())
        spans += parsed.resource_spans[0].scope_spans[0].spans
    send(receiver, "crash_replay")
    assert spans == spans_of(receiver.taken("/v1/traces"))
