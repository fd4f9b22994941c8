// A job as spans: the job, its attempts below it, their stages below those. Attempts follow one
// another without a gap: what a job waits for is told with the attempt that it waits for, so that
// the stages of an attempt fill it, and the attempts the job, to the nanosecond.
//
//   job "nightly"
//     attempt 65536                 failures are events of it
//       queued, scheduling, imports, …, compile_cold     one each, as they came
//       training                    with the time of every bucket in it as attributes
//       final_save, …, down
//
// Identifiers are made from tenant, job and attempt: whoever tells of a job, and how often, says
// the same ones. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "fleet/fact.h"
#include "interchange/shown_names.h"
#include "metrics/job_state.h"
#include "otlp/span.h"
#include "timeline/job.h"

namespace headway::otlp {

struct SpanOptions {
  std::string tenant = "default";
  interchange::TextRule rule = {};  // what of each text is told
};

// What is told of: the facts are fleet::facts_of(result, names).
struct JobAccount {
  const timeline::JobResult& result;
  const event::NameTable& names;
  const std::vector<fleet::AttemptFacts>& facts;
};

// Of a start, and of an end; what is beyond is told as one.
inline constexpr std::size_t stages_max = 128;

[[nodiscard]] TraceId trace_of(std::string_view tenant, std::string_view job);

[[nodiscard]] Span job_span(const JobAccount& job, metrics::JobState state,
                            const SpanOptions& options);
// Attempt `at` of the result: itself, then its stages in order of time.
[[nodiscard]] std::vector<Span> attempt_spans(const JobAccount& job, std::size_t at,
                                              const SpanOptions& options);

}  // namespace headway::otlp
