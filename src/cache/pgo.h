// What torch learned of dynamic shapes, for another job: its file's name is made of job, rank and
// tag, so a job of another name, or of more ranks, would not find it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway::cache {

inline constexpr std::uint32_t pgo_ranks_max = 1'000'000;

// As torch writes it into a file's name: what some file systems refuse becomes '_'.
[[nodiscard]] std::string pgo_name(std::string_view text);

// "dynamo/code_state_<job>_<rank>_<tag>.pkl".
struct PgoState {
  std::string job, rank, tag;  // rank: digits, or "None" where there is no process group
};
[[nodiscard]] std::string pgo_path(const PgoState& state);
// A job's name may have '_' in it: `job` says where it ends. Empty: at the last thing that looks
// like a rank.
[[nodiscard]] std::optional<PgoState> parse_pgo_path(std::string_view path, std::string_view job);

struct PgoRule {
  std::string from;                    // job; "*": any
  std::string to;                      // job
  std::optional<std::uint32_t> ranks;  // of the new job; 0: no process group; none: as the old one
};
// "OLD=NEW", or "NEW" for what any job has learned.
base::Result<PgoRule> parse_pgo_rule(const std::string& text);

// Which state becomes which file: each rank of the new job that has none gets its own of the old
// job, else that of the lowest rank there is.
struct PgoCopy {
  std::size_t from = 0;  // which of `paths`
  std::string path;
};
[[nodiscard]] std::vector<PgoCopy> plan_pgo(const std::vector<std::string>& paths,
                                            const PgoRule& rule);

}  // namespace headway::cache
