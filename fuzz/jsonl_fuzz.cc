// Any bytes through the event-line parser, the builder and the ordering; what comes out must read
// back as itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "interchange/line.h"
#include "interchange/line_writer.h"
#include "interchange/stream_builder.h"

namespace {

using namespace headway;

// The canonical lines of an input; lines that do not parse are passed over.
std::string canonical(std::string_view text) {
  interchange::LineParser parser;
  interchange::StreamBuilder builder;
  interchange::Line line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (parser.parse_copy(text.substr(0, end), line).ok() && !builder.add(line, "fuzz").ok()) break;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  auto jobs = builder.finish("fuzz", {});
  std::string out;
  if (!jobs.ok()) return out;
  for (const auto& job : *jobs) {
    for (const auto& stream : job.streams) {
      const auto source = stream.open();
      bool facts = true;
      for (auto batch = source->next(); !batch.empty(); batch = source->next()) {
        for (const auto& e : batch) {
          if (!interchange::append_line(out, stream.info, e, *job.names, facts)) std::abort();
          facts = false;
        }
      }
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string once = canonical({reinterpret_cast<const char*>(data), size});
  if (canonical(once) != once) std::abort();
  return 0;
}
