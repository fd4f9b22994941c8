// What `headway trace --html` writes: a folder of plain files that a browser opens from the disk,
// without a server and without any request to elsewhere.
//
//   index.html, stacks.html, config.html     the job
//   compiles.js                              the list of compilations, for report.js
//   report.css, report.js                    how it looks, and sorting and filtering
//   log<n>/<id>/index.html                   a compilation, and beside it
//   log<n>/<id>/<k>-<name>.txt               every text that torch dumped for it, byte for byte
//   log<n>/events.json                       torch's own timeline, for Perfetto
//   log<n>/none/<k>-<name>.txt               those of no compilation
//
// Only what is shown is ever loaded: texts are opened by links. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "cli/trace_views.h"

namespace headway::cli {

struct HtmlReport {
  std::string index;  // path
  std::uint64_t files = 0;
  std::uint64_t payloads = 0;
  std::uint64_t payload_bytes = 0;
};

// `progress` is told of bytes of payloads that were copied; payload_bytes_of() is their sum.
base::Result<HtmlReport> write_trace_html(const TraceView& view, const std::string& folder,
                                          const std::function<void(std::uint64_t)>& progress);
[[nodiscard]] std::uint64_t payload_bytes_of(const TraceView& view);

}  // namespace headway::cli
