// Any bytes as output to redact, line by line: a second pass finds nothing, and no line gets too
// long.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "failure/redact.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headway::failure;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Redactor first, second;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::string once = first.line(line);
    HW_CHECK(once.size() <= redacted_line_bytes_max);
    HW_CHECK(second.line(once) == once);
    HW_CHECK(redact_line(redact_line(line)) == redact_line(line));
  }
  return 0;
}
