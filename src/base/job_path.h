// Where a job's journals lie, and which job names may become folder names. The recorder, the agent
// and the command line all ask here, so that they always mean the same file.
//
//   <jobs root>/<job>/<attempt>/rank-00000.hwj     a rank's journal
//   <jobs root>/<job>/<attempt>/agent-<host>.hwj   the launcher's
//   <jobs root>/<job>/<attempt>/rank-0.log         a rank's output
//
// A name that is not safe as a folder name is refused, never quietly changed; sanitize_job_name()
// makes a safe one out of anything, for names that Headway derives itself. Any thread, except that
// jobs_root() reads the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::base {

inline constexpr std::size_t job_name_bytes_max = 200;
inline constexpr std::string_view kJournalSuffix = ".hwj";
// An attempt's number is allocation * this + launch.
inline constexpr std::uint64_t kLaunchesPerAllocation = 65536;

// Letters, digits and ._+@=- ; the first byte is a letter, a digit or '_'.
[[nodiscard]] bool is_job_name(std::string_view name);
Status check_job_name(std::string_view name);
// Every other byte becomes '_'; never empty, never too long.
[[nodiscard]] std::string sanitize_job_name(std::string_view text);

// What was given (--dir), else HEADWAY_DIR, else $XDG_STATE_HOME/headway, else
// ~/.local/state/headway. Need not exist.
Result<std::string> jobs_root(std::string_view given = {});

// These expect a name that check_job_name() accepts.
[[nodiscard]] std::string job_dir(std::string_view root, std::string_view job);
[[nodiscard]] std::string attempt_dir(std::string_view root, std::string_view job,
                                      std::uint64_t attempt);

// File names inside an attempt's folder, without the suffix: "rank-00007", "agent-<host>".
[[nodiscard]] std::string rank_journal_stem(std::uint32_t rank);
[[nodiscard]] std::string agent_journal_stem(std::string_view host);

// What a rank wrote, where the launcher kept it, and the error file of torch's @record.
[[nodiscard]] std::string rank_log_path(std::string_view attempt_dir, std::uint32_t rank);
[[nodiscard]] std::string error_file_path(std::string_view attempt_dir, std::uint32_t rank);

}  // namespace headway::base
