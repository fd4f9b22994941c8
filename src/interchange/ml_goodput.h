// Logs of ml-goodput-measurement (the dictionaries its recorder writes, one JSON object a line or
// one JSON array of them) as events. The mapping is in docs/formats/import.md. Parsing and mapping
// are pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "interchange/stream_builder.h"

namespace headway::interchange {

inline constexpr std::size_t kGoodputEntriesMax = 20'000'000;

enum class GoodputKind : std::uint8_t {
  job_start,
  tpu_init_start,
  tpu_init_end,
  training_prep_start,
  training_prep_end,
  data_loading_start,
  data_loading_end,
  custom_start,
  custom_end,
  step_start,
  job_end,
  elastic_wait_start,
  elastic_wait_end,
  elastic_reinit_start,
  elastic_reinit_end,
  save,
  restore,
};

struct GoodputEntry {
  GoodputKind kind = GoodputKind::job_start;
  std::int64_t t_ns = 0;
  std::int64_t duration_ns = 0;  // save, restore
  std::int64_t step = -1;        // step_start, save, restore
  std::string job;
  std::string name;  // of a custom or elastic event
};

struct GoodputLog {
  std::vector<GoodputEntry> entries;
  std::uint64_t ignored = 0;  // entries that carry no time we use: slice counts and the like
  std::uint64_t bad = 0;      // left out, with skip_bad
  std::vector<std::string> notes;
};

// Messages begin with the place ("line 3: ..." or "entry 3: ...").
base::Result<GoodputLog> parse_goodput(std::string_view text, bool skip_bad);

// `job` renames; empty keeps job_name.
base::Status add_goodput(const GoodputLog& log, std::string_view job, std::string_view origin,
                         StreamBuilder& builder);

}  // namespace headway::interchange
