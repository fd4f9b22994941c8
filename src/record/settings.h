// What hw_init() is told: by its caller, or by the environment that the agent or torchrun set up
// (docs/formats/journal.md lists the variables). Reads the environment; call it before threads that
// change it exist. May throw std::bad_alloc: hw_init() catches it.
#pragma once

#include <cstdint>
#include <string>

#include "headway/headway.h"

namespace headway::record {

inline constexpr std::uint64_t journal_bytes_default = 1ull << 30;
inline constexpr std::uint64_t journal_bytes_min = 8192;
inline constexpr std::uint64_t journal_bytes_max = 1ull << 36;

struct Settings {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  std::uint32_t world_size = 0;
  std::uint64_t attempt = 1;
  std::uint64_t max_bytes = journal_bytes_default;
  std::string dir;   // of the attempt
  std::string stem;  // of the file, without suffix
  std::string job;
  std::string host;
};

// options == nullptr: from the environment. Returns 0 or a positive errno: ECANCELED where
// HEADWAY_DISABLE is set, EINVAL for a job name or number that is none, ENOENT without a folder.
int resolve_settings(const hw_options* options, Settings& settings);

}  // namespace headway::record
