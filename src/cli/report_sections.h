// The sections of the report's text, each of which adds its lines to a page. A section that has
// nothing to say adds nothing and returns false; the caller puts blank lines between those that do.
#pragma once

#include <string>
#include <string_view>

#include "cli/page.h"
#include "cli/report_text.h"
#include "metrics/report.h"

namespace headway::cli {

// A scheduler takes a moment from an exit to the request for the next run; nobody wants to read it.
inline constexpr std::int64_t between_runs_shown_min_ns = 10'000'000'000;

inline constexpr std::size_t rows_shown_max =
    12;  // attempts or failures; beyond, the first and last
inline constexpr std::size_t rows_at_ends = 3;
inline constexpr std::size_t names_shown_max = 3;  // stragglers, own spans
inline constexpr std::size_t logs_shown_max = 3;

bool add_key_numbers(Page& page, const metrics::Report& r, const TextOptions& options);  // L1
bool add_breakdown(Page& page, const metrics::Report& r);                                // L2, L3
bool add_attempts(Page& page, const metrics::Report& r, const TextOptions& options);
bool add_failures(Page& page, const metrics::Report& r);
bool add_losses(Page& page, const metrics::Report& r, const std::optional<SaveAdvice>& saves);
bool add_coverage(Page& page, const metrics::Report& r, bool is_live);

// ETT, idleness and failure in hundredths of a percent; they add up to 100.00 or are all 0.
struct HeadShares {
  std::int64_t ett, idleness, failure;
};
[[nodiscard]] HeadShares head_shares(const metrics::Report& r);
// A bar of `cells` that is divided as they are.
void add_stack(Line& line, const HeadShares& shares, int cells, const Style& style);
// "job NAME", how it stands, its wall time and ranks; `word` in place of "job".
[[nodiscard]] Line title_of(std::string_view word, const Page& page, const metrics::Report& r,
                            const TextOptions& options);

}  // namespace headway::cli
