#include "agent/hang_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

constexpr std::int64_t kFixedMaxNs = 86'400'000'000'000;
constexpr std::int64_t kPeriodMinNs = 100'000'000;
constexpr std::int64_t kPeriodMaxNs = 3'000'000'000;

// A span that is part of every step; all others may last.
bool is_ordinary(std::uint16_t phase) {
  return phase == HW_PHASE_NONE || phase == HW_PHASE_DATA_WAIT;
}

}  // namespace

base::Result<HangLimit> parse_hang_limit(const std::string& text) {
  HangLimit limit;
  if (text == "auto") return limit;
  if (text == "off") {
    limit.kind = HangLimit::Kind::off;
    return limit;
  }
  limit.kind = HangLimit::Kind::fixed;
  limit.after_ns = base::parse_duration(text).value_or(0);
  if (limit.after_ns <= 0 || limit.after_ns > kFixedMaxNs) {
    return base::Status::invalid(fmt::format(
        "--hang-timeout {}: want auto, off, or a time of more than 0 and at most {}: 600, 90s, 10m",
        text, base::format_duration(kFixedMaxNs)));
  }
  return limit;
}

std::int64_t HangWatch::period_ns() const {
  const std::int64_t least = limit_.kind == HangLimit::Kind::fixed ? limit_.after_ns : step_min_ns;
  return std::clamp(least / 10, kPeriodMinNs, kPeriodMaxNs);
}

std::int64_t HangWatch::limit_of(const RankState& state, const Seen& seen) const {
  // After what may be the last step an export may follow, of which nobody tells us.
  if (state.steps == 0 || state.between) return outside_ns;
  if (limit_.kind == HangLimit::Kind::fixed) return limit_.after_ns;
  const std::int64_t longest_ns = std::max(state.step_gap_max_ns, seen.phase_gap_max_ns);
  const std::int64_t floor_ns = is_ordinary(state.phase) ? step_min_ns : phase_min_ns;
  return std::clamp(times * longest_ns, floor_ns, learnt_max_ns);
}

std::optional<HangWatch::Hang> HangWatch::look(const std::vector<RankState>& ranks,
                                               std::int64_t now_ns) {
  if (seen_.size() != ranks.size()) seen_.assign(ranks.size(), Seen{0, now_ns, 0, 0});
  std::optional<Hang> worst;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankState& state = ranks[i];
    Seen& seen = seen_[i];
    if (!state.reports) {
      seen.changed_ns = now_ns;  // not measured: nothing can be said of it
      continue;
    }
    if (state.events != seen.events) {
      if (!is_ordinary(seen.phase)) {
        seen.phase_gap_max_ns = std::max(seen.phase_gap_max_ns, now_ns - seen.changed_ns);
      }
      seen = Seen{state.events, now_ns, state.phase, seen.phase_gap_max_ns};
      continue;
    }
    const std::int64_t silent_ns = now_ns - seen.changed_ns;
    const std::int64_t limit_ns = limit_of(state, seen);
    if (silent_ns < limit_ns || (worst && worst->silent_ns >= silent_ns)) continue;
    worst = Hang{i, silent_ns, limit_ns};
  }
  return on() ? worst : std::nullopt;
}

}  // namespace headway::agent
