// Whatever the bytes of a fact are, they are refused in one line or read in bounded memory, and
// what was read is written as the same bytes again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "fleet/fact_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > (1u << 20)) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  auto facts = headway::fleet::facts_from_bytes(bytes, "row");
  if (!facts.ok()) {
    HW_CHECK(facts.status().message().find('\n') == std::string::npos);
    return 0;
  }
  HW_CHECK(facts->slices.size() <= headway::fleet::AttemptFacts::slices_max);
  const auto again = headway::fleet::to_bytes(*facts);
  auto back = headway::fleet::facts_from_bytes(again, "row");
  HW_CHECK(back.ok());
  HW_CHECK(*back == *facts);
  return 0;
}
