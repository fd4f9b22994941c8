// Reads every byte of a checkpoint and says all that is wrong with it: manifest, names, sizes,
// checksums, headers, tensors with holes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/status.h"

namespace headway::checkpoint {

inline constexpr std::size_t damages_max = 1000;  // that are kept; the rest is counted

struct Damage {
  std::string file;  // its name in the checkpoint
  std::string text;  // one line: path, place, what
  std::optional<std::uint64_t> chunk, begin, end;
};

struct VerifyReport {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // read and compared
  std::size_t tensors = 0;
  std::vector<Damage> damages;
  std::uint64_t more_damages = 0;
  [[nodiscard]] bool good() const { return damages.empty(); }
};

// Bytes done since the last call, of all that the manifest names.
using Progress = std::function<void(std::uint64_t bytes)>;

// An error only where nothing could be said (no such folder, the disk fails).
base::Result<VerifyReport> verify_checkpoint(base::FileSystem& files, const std::string& path,
                                             const Progress& progress = {});

}  // namespace headway::checkpoint
