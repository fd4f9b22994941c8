// How an attempt ended, judged from its marks alone.
#pragma once

#include <cstdint>
#include <optional>

#include "timeline/attempt.h"

namespace headway::timeline {

struct AttemptEnd {
  Outcome outcome = Outcome::running;
  std::optional<Failure> failure;
  std::int64_t work_end_ns = 0;  // the failure, the clean exit, or now
  std::int64_t end_ns = 0;       // the last exit: work_end to here is tear-down
  bool orderly = false;          // interrupted, but the ranks ended by themselves, with code 0
  bool inferred = false;         // nothing said so; the last event serves
};

// `last_ns`: the latest thing known of any rank; `last_step_ns`: the end of the last finished step.
[[nodiscard]] AttemptEnd judge_end(const Facts& facts, const AttemptOptions& options,
                                   std::int64_t last_ns, std::int64_t last_step_ns);

}  // namespace headway::timeline
