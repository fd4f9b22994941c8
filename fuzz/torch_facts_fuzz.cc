// Any bytes as a kept answer which torch a Python has: read, it is written as it was.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cache/torch_facts.h"

using namespace headway;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto kept = cache::parse_facts(bytes)) {
    HW_CHECK(cache::to_text(*kept) == bytes);
    HW_CHECK(!kept->facts.torch.empty() && !kept->facts.environment.empty());
  }
  return 0;
}
