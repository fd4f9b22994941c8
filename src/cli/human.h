// Numbers as a person reads them: durations, instants, shares, counts, signals. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/style.h"

namespace headway::cli {

// "850 ns", "12.3 us", "4.57 ms", "1.234 s", "12.35 s", "2m 03s", "1h 02m", "3d 04h".
[[nodiscard]] std::string human_duration(std::int64_t ns, const Style& style);

// Inputs may count from zero on a clock of their own; such times are not dates.
[[nodiscard]] bool is_date(std::int64_t t_ns);
// "2026-11-15 21:40:00 UTC", or "t = 12.5 s" when it is not a date.
[[nodiscard]] std::string human_instant(std::int64_t t_ns, const Style& style);
// "2026-11-15 21:40:00 – 22:00:00 UTC": the day is told once where it is the same.
[[nodiscard]] std::string human_interval(std::int64_t from_ns, std::int64_t to_ns,
                                         const Style& style);

// "512 B", "4.0 KiB", "12.3 GiB".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

// "12 345": digits in groups of three.
[[nodiscard]] std::string human_count(std::uint64_t count);
// "1 file", "12 345 files". `many`: where it is not `one` with an s ("1 entry is", "2 entries
// are").
[[nodiscard]] std::string plural(std::uint64_t n, std::string_view one, std::string_view many = {});

// `total` units shared out among the parts so that they add up to the total exactly (largest
// remainder). All zero when the parts are.
[[nodiscard]] std::vector<std::int64_t> share_out(const std::vector<std::int64_t>& parts,
                                                  std::int64_t total);
// Hundredths of a percent, rounded half up; 0 where there is no whole.
inline constexpr std::int64_t kWholeShare = 10'000;
[[nodiscard]] std::int64_t share_of(std::int64_t part, std::int64_t whole);
[[nodiscard]] std::string human_share(std::int64_t hundredths);  // "12.34%"

// "SIGKILL"; "signal 77" where the system has no name for it.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace headway::cli
