// What `headway trace` shows: a page for a person, JSON for a program. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "cli/json_stream.h"
#include "cli/style.h"
#include "compile/trace_job.h"

namespace headway::cli {

struct TraceView {
  const compile::TraceJob* job = nullptr;
  std::vector<compile::MissCause> misses;
  std::vector<compile::Divergence> divergences;
  std::vector<compile::AutotuneCost> autotune;  // of all logs
  std::string title;
  bool all = false;  // every line, however many there are
};

[[nodiscard]] std::string trace_text(const TraceView& view, const Style& style);
// Into the object that is open.
void write_trace_json(const TraceView& view, JsonStream& out);

}  // namespace headway::cli
