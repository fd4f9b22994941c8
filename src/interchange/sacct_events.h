// What Slurm's accounting says about a job, as events (docs/formats/import.md has the table). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "interchange/sacct.h"
#include "interchange/stream_builder.h"

namespace headway::interchange {

struct SacctMapping {
  std::string job;                         // empty: every Slurm job becomes "slurm-<JobID>"
  std::vector<std::string> slurm_job_ids;  // empty: all
  // Launches that the job has recorded itself. A row joins those of its allocation: its start marks
  // go to the first, its end to the last.
  std::vector<std::int64_t> known_attempts;
};

struct SacctTaken {
  std::uint64_t allocations = 0;
  std::uint64_t pending = 0;  // never started: only `submitted`
  std::vector<std::string> notes;
};

base::Result<SacctTaken> add_sacct(const SacctTable& table, const SacctMapping& mapping,
                                   std::string_view origin, StreamBuilder& builder);

// hw_origin of an allocation that ended in this state; HW_ORIGIN_NONE: no failure.
int origin_of_state(const SacctRow& row);

}  // namespace headway::interchange
