// torch's MegaCache blob (torch.compiler.save_cache_artifacts) as it lies in bytes: no Python, no
// pickle is opened.
//
//   u32 CRC-32 of the rest | u64 version 1 | chunk …
//   chunk: str type | u64 count | (str key | bytes content) …
//
// with big-endian numbers, bytes as u64 length and data, str as bytes of base64 of UTF-8. A process
// that saves twice writes a second chunk of a type behind the first, and torch's own loader keeps
// only the last one of each. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway::cache {

inline constexpr std::uint64_t blob_bytes_max = 16ULL << 30;
inline constexpr std::size_t blob_artifacts_max = 1'000'000;
inline constexpr std::size_t blob_chunks_max = 100'000;
inline constexpr std::size_t blob_text_bytes_max = 4096;

struct MegaArtifact {
  std::string key;
  std::string_view content;  // in the blob that was parsed, or whatever its maker keeps
};
struct MegaChunk {
  std::string type;
  std::vector<MegaArtifact> artifacts;
};

// Chunks as they lie there. Contents point into `blob`. What is accepted and written again has the
// same bytes.
base::Result<std::vector<MegaChunk>> parse_blob(std::string_view blob, const std::string& path);
[[nodiscard]] std::string to_blob(const std::vector<MegaChunk>& chunks);

}  // namespace headway::cache
