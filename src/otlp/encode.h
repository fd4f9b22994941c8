// Spans and metrics as requests of the OpenTelemetry protocol (OTLP 1.x): protocol buffers for
// HTTP, and lines of JSON for files (docs/monitoring.md says who reads which). Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/export_families.h"
#include "otlp/span.h"

namespace headway::otlp {

// An ExportTraceServiceRequest.
[[nodiscard]] std::string encode_traces(const Source& source, std::span<const Span> spans);

// The same as a line of OTLP/JSON, with its end: what the collector's otlpjsonfile receiver reads,
// and what an endpoint takes as application/json.
void append_traces_json(std::string& out, const Source& source, std::span<const Span> spans);

// An ExportMetricsServiceRequest. Counters are since `since_ns`. A family
// `headway_fleet_device_seconds` becomes `headway.fleet.device` in "s": whoever makes a Prometheus
// metric of it again comes to the same name.
[[nodiscard]] std::string encode_metrics(const Source& source,
                                         std::span<const interchange::Family> families,
                                         std::int64_t since_ns, std::int64_t now_ns);

// "headway_fleet_device_seconds" → "headway.fleet.device".
[[nodiscard]] std::string metric_name(const interchange::Family& family);

}  // namespace headway::otlp
