// Any bytes as a manifest, also with the right checksum put behind them: what is accepted says the
// same when it is written again, and names nothing outside of its folder.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/crc32c.h"
#include "checkpoint/manifest.h"

namespace {

using namespace headway::checkpoint;

void check(std::string_view text) {
  const auto manifest = parse_manifest(text, "m");
  if (!manifest.ok()) {
    HW_CHECK(manifest.status().message().find('\n') == std::string::npos);
    return;
  }
  for (const ManifestFile& file : manifest.value().files) {
    HW_CHECK(is_file_name(file.name) && file.name.find('/') == std::string::npos);
    HW_CHECK(file.crc32c.size() <= file.bytes);
  }
  const std::string again = to_text(manifest.value());
  const auto twice = parse_manifest(again, "m");
  HW_CHECK(twice.ok() && to_text(twice.value()) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text);
  char seal[16];
  std::snprintf(seal, sizeof(seal), "%08x", headway::base::crc32c(data, size));
  check(std::string(text) + ",\n\"crc32c\":\"" + seal + "\"}\n");
  return 0;
}
