// Whatever an endpoint answers, it is read in bounded memory, says nothing absurd and fits on a
// line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "otlp/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto partial = headway::otlp::parse_partial_success(bytes);
  HW_CHECK(partial.rejected >= 0);
  HW_CHECK(partial.message.size() <= headway::otlp::partial_message_max);
  HW_CHECK(partial.message.find('\n') == std::string_view::npos);
  return 0;
}
