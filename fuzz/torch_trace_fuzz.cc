// Any bytes as a TORCH_TRACE log: every byte is accounted for, what is handed out is inside the
// file, the stages of a compilation add up to it, its time is in the timeline once, and reading
// twice says the same.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/file.h"
#include "compile/dynamic_sources.h"
#include "compile/import_trace.h"
#include "compile/trace_fold.h"
#include "compile/trace_job.h"

namespace {

using namespace headway;

base::UniqueFd file_of(std::string_view bytes) {
  base::UniqueFd fd(::memfd_create("trace", MFD_CLOEXEC));
  HW_CHECK(fd.valid());
  HW_CHECK(::pwrite(fd.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return fd;
}

compile::ProcessLog fold(std::string_view bytes, compile::ComponentTable& table) {
  compile::TraceReader reader("trace", file_of(bytes), {.verify = true});
  compile::TraceFold fold("trace", table, true);
  compile::TraceRecord record;
  std::uint64_t line = 0;
  while (reader.next(record)) {
    HW_CHECK(record.line > line);
    line = record.line;
    HW_CHECK(record.payload_at + record.payload_bytes <= bytes.size());
    HW_CHECK(record.payload == bytes.substr(record.payload_at, record.payload.size()));
    fold.add(record);
  }
  HW_CHECK(reader.status().ok());
  HW_CHECK(reader.counts().bytes == bytes.size());
  return fold.finish(reader.counts());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  compile::TraceJob job;
  for (auto* logs : {&job.other, &job.logs}) logs->push_back(fold(bytes, job.components));
  const compile::ProcessLog& log = job.logs.front();
  HW_CHECK(log.counts.records == job.other.front().counts.records);
  HW_CHECK(log.compiles.size() == job.other.front().compiles.size());
  for (const compile::Compile& one : log.compiles) {
    for (const compile::Pass* pass : {&one.forward, &one.backward}) {
      HW_CHECK(pass->stages.total_us() == pass->duration_us);
    }
    (void)compile::what_of(one);
    HW_CHECK(one.stack < log.stacks.nodes().size());
    for (const compile::GraphBreak& each : one.breaks) {
      HW_CHECK(each.stack < log.code.nodes().size());
    }
    for (const compile::Specialised& each : one.specialised) {
      HW_CHECK(each.stack < log.code.nodes().size());
    }
  }
  std::int64_t reached_ns = INT64_MIN;
  for (const compile::CompileSpan& span : compile::spans_of(log)) {
    HW_CHECK(span.begin_ns >= reached_ns && span.end_ns > span.begin_ns);
    reached_ns = span.end_ns;
  }
  for (const compile::AutotuneCost& cost : log.autotune) HW_CHECK(cost.total_us() >= 0);
  for (const compile::MissCause& cause : compile::explain_misses(job)) {
    // The other trace is the same one: its own key is the nearest.
    HW_CHECK(cause.has_nearest && cause.changes.empty());
  }
  (void)compile::compare_ranks(job);
  const compile::DynamicFindings found = compile::find_dynamic_sources(job.logs);
  HW_CHECK(found.compiles == log.compiles.size() && found.saved <= found.again);
  return 0;
}
