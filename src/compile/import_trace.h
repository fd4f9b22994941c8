// The compilations of TORCH_TRACE logs in a job's timeline: a span of each process's compiling,
// warm or cold as the hook in a trainer would have told it, for jobs that ran without the hook.
// Where the job's own records have a compilation already, the trace's is left out: no time counts
// twice. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compile/compile_log.h"
#include "event/stream.h"
#include "interchange/import.h"

namespace headway::compile {

struct CompileSpan {
  std::int64_t begin_ns = 0, end_ns = 0;
  bool warm = false;
  auto operator<=>(const CompileSpan&) const = default;
};
// When a process compiled: sorted, apart from each other. Compilations that overlap (one inside
// another) are one span, warm if all of them are.
[[nodiscard]] std::vector<CompileSpan> spans_of(const ProcessLog& log);

// What a job says of itself: of each attempt and rank, when it was there and when it compiled.
struct RecordedRank {
  std::int64_t attempt = 0;
  std::uint32_t rank = 0;
  std::int64_t first_ns = 0, last_ns = 0;
  std::vector<CompileSpan> spans;
};
[[nodiscard]] std::vector<RecordedRank> recorded_ranks(const event::JobStreams& job);

// The attempt of each log: that of the job's records which ran meanwhile. Logs that came after all
// of them, or of a job without any, are of attempts of their own. None: before, or between two.
[[nodiscard]] std::vector<std::optional<std::int64_t>> attempts_of(
    const std::vector<const ProcessLog*>& logs, const std::vector<RecordedRank>& recorded);

// Folders and files of logs into the folder of options.job, which has to be named.
base::Result<interchange::ImportSummary> import_trace(const std::vector<std::string>& paths,
                                                      const interchange::ImportOptions& options);

}  // namespace headway::compile
