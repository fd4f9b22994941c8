// The life of this process's recorder: begun by hw_init(), ended by hw_shutdown(), continued in
// forked children. One per process; the C ABI (api.cc) is its only user. Functions may be called
// from any thread; begin() may throw std::bad_alloc, which api.cc catches.
#pragma once

#include <cstdint>

#include "headway/headway.h"

namespace headway::record {

int begin_recording(const hw_options* options);
void end_recording();
void pause_keeper();
void resume_keeper();
[[nodiscard]] const char* journal_path();
void fill_stats(hw_stats& stats);
[[nodiscard]] std::uint16_t intern_name(const char* text);
[[nodiscard]] std::uint64_t ticks_from_monotonic(std::int64_t monotonic_ns);

}  // namespace headway::record
