// Times as options state them: plain seconds, or a number with its unit. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headway::base {

// A century: two of them and the time of day are still a number.
inline constexpr std::int64_t duration_max_ns = 36'600LL * 24 * 3600 * 1'000'000'000;

// "90", "1.5", "500ms", "90s", "30m", "1h", "7d" in nanoseconds, never negative; what is longer
// than duration_max_ns is that long. nullopt: none of these.
std::optional<std::int64_t> parse_duration(std::string_view text);
// 3600 s → "1h": in the largest unit that divides it, as one would type it.
std::string format_duration(std::int64_t ns);

// The value of `option`, from `min_s` to `max_s`, in nanoseconds.
Result<std::int64_t> parse_time_option(std::string_view option, const std::string& text,
                                       std::int64_t min_s, std::int64_t max_s);

}  // namespace headway::base
