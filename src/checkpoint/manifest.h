// MANIFEST.json: what belongs to a checkpoint, and the record of its commit. A checkpoint without a
// manifest that reads well and agrees with itself is none. docs/formats/checkpoint.md. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway::checkpoint {

inline constexpr int manifest_version = 2;  // that a reader understands
inline constexpr std::string_view manifest_name = "MANIFEST.json";
inline constexpr std::uint64_t manifest_bytes_max = 256 << 20;
inline constexpr std::size_t manifest_files_max = 1'000'000;
inline constexpr std::uint64_t chunk_bytes_min = 4096;
inline constexpr std::uint64_t chunk_bytes_max = 64 << 20;  // a reader holds one in memory
// Beside the manifest: this checkpoint is kept forever (anchor.h).
inline constexpr std::string_view anchor_name = "ANCHOR";

struct ManifestFile {
  std::string name;  // in the checkpoint's own folder
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;
  std::vector<std::uint32_t> crc32c;  // of each chunk; the last may be shorter
  std::uint32_t rank = 0;             // whose state it holds
};

struct Manifest {
  std::uint64_t step = 0;
  std::uint64_t data = 0;  // position in the training data
  std::uint32_t world_size = 1;
  std::string job;
  std::uint64_t attempt = 0;
  std::int64_t time_ns = 0;  // real time, when the step was reached
  // Not empty: only what changed since the checkpoint of that name, in the same folder (delta.h).
  std::string base{};
  std::vector<ManifestFile> files;
};

// Of all its files.
[[nodiscard]] std::uint64_t total_bytes(const Manifest& manifest);

// A file's name that leads nowhere but into the checkpoint's own folder.
[[nodiscard]] bool is_file_name(std::string_view name);

[[nodiscard]] std::string to_text(const Manifest& manifest);
// Errors name `path` and what is wrong; text that somebody or something has changed is one.
base::Result<Manifest> parse_manifest(std::string_view text, const std::string& path);

}  // namespace headway::checkpoint
