// Any bytes as a TORCH_TRACE log: every byte is accounted for, what is handed out is inside the
// file, the stages of a compilation add up to it, and reading twice says the same.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/file.h"
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
  compile::TraceFold fold("trace", table);
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
  }
  for (const compile::MissCause& cause : compile::explain_misses(job)) {
    // The other trace is the same one: its own key is the nearest.
    HW_CHECK(cause.has_nearest && cause.changes.empty());
  }
  (void)compile::compare_ranks(job);
  return 0;
}
