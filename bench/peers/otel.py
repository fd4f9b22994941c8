"""OpenTelemetry's Python SDK: spans that go nowhere, or into memory."""

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class NullExporter(SpanExporter):
    """Takes a finished span and forgets it: the cost of making the span alone."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def tracer(exporter: SpanExporter) -> Tracer:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("bench")


def memory_exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()
