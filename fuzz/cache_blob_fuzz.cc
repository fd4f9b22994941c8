// Any bytes as a MegaCache blob, also with the checksum that fits: what is accepted has the same
// bytes when it is written again, and no key leads out of a cache directory.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "cache/mega.h"

namespace {

using namespace headway::cache;

void check(std::string_view blob) {
  const auto chunks = parse_blob(blob, "b");
  if (!chunks.ok()) {
    HW_CHECK(chunks.status().message().find('\n') == std::string::npos);
    return;
  }
  for (const MegaChunk& chunk : chunks.value()) {
    for (const MegaArtifact& artifact : chunk.artifacts) {
      const auto place = mega_place(chunk.type, artifact);
      if (!place) continue;
      HW_CHECK(kind_of_path(place->path) == place->kind && place->path.front() != '/');
      HW_CHECK(("/" + place->path + "/").find("/../") == std::string::npos);
    }
  }
  HW_CHECK(to_blob(chunks.value()) == blob);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string blob(reinterpret_cast<const char*>(data), size);
  check(blob);
  if (size < 4) return 0;
  std::uint32_t crc = ~0U;
  for (std::size_t i = 4; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0);
  }
  for (std::size_t i = 0; i < 4; ++i) blob[i] = static_cast<char>(~crc >> (24 - 8 * i) & 0xFF);
  check(blob);
  return 0;
}
