// `sacct --parsable2` output: a header line of field names, then one row per allocation or job
// step, fields split by '|'. Any fields in any order; JobID, State and Start are needed. Parsing is
// pure but for Zone::local, which asks the C library about TZ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headway::interchange {

inline constexpr std::size_t kSacctFieldsMax = 256;
inline constexpr std::size_t kSacctRowsMax = 4'000'000;

enum class Zone { utc, local };

// One allocation: a row whose JobID names no step. With `sacct -D` a job has one for each restart.
struct SacctRow {
  std::uint64_t line = 0;
  std::string job_id;  // "123", "12_3" of an array, "12+1" of a heterogeneous job
  std::string job_name;
  std::string state;         // one word: COMPLETED, CANCELLED, ...
  std::string cancelled_by;  // the uid of "CANCELLED by 1000"
  std::optional<std::int64_t> submit_ns, eligible_ns, start_ns, end_ns;  // nullopt: Unknown, None
  int exit_code = 0;
  int signal = 0;
  std::optional<int> restarts;
  std::string node_list;
  std::string reason;
};

struct SacctTable {
  std::vector<SacctRow> rows;
  std::uint64_t step_rows = 0;  // 123.batch, 123.extern, 123.0: recognised, not used
  std::uint64_t bad_rows = 0;   // left out, with skip_bad
  std::vector<std::string> notes;
};

struct SacctOptions {
  Zone zone = Zone::local;  // sacct prints local time without saying which
  bool skip_bad = false;
};

// Messages begin with the line number ("line 3: ...").
base::Result<SacctTable> parse_sacct(std::string_view text, const SacctOptions& options);

// "2026-04-16T09:30:00" (also with Z, +02:00, or as seconds since the epoch) as ns.
std::optional<std::int64_t> parse_slurm_time(std::string_view text, Zone zone);

}  // namespace headway::interchange
