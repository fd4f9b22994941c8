// Has a rank stopped getting on? Judged by its own history. Pure; `now` is an argument.
//
// A rank gets on when its training thread records anything. How long silence may last depends on
// what it does: inside a step ten times its longest gap between two steps so far, at least a
// minute; inside a save, an evaluation, a compilation or another long phase at least ten minutes;
// before its first step, and after one when the next has not been begun (it may be the last, and
// the model is being uploaded), half an hour. A fixed time, where one is given, is for steps and
// phases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/rank_progress.h"
#include "base/status.h"

namespace headway::agent {

struct HangLimit {
  enum class Kind { learnt, fixed, off };
  Kind kind = Kind::learnt;
  std::int64_t after_ns = 0;  // fixed
};
// "auto", "off", or a time (base/duration.h).
base::Result<HangLimit> parse_hang_limit(const std::string& text);

class HangWatch {
 public:
  static constexpr std::int64_t outside_ns = 1'800'000'000'000;
  static constexpr std::int64_t phase_min_ns = 600'000'000'000;
  static constexpr std::int64_t step_min_ns = 60'000'000'000;
  static constexpr std::int64_t learnt_max_ns = 1'800'000'000'000;
  static constexpr int times = 10;

  struct Hang {
    std::size_t rank = 0;        // index among the ranks; the one that has been silent longest
    std::int64_t silent_ns = 0;  // all of it, up to now
    std::int64_t limit_ns = 0;
  };

  explicit HangWatch(HangLimit limit) : limit_(limit) {}

  // When to look again; ns after the last look.
  [[nodiscard]] std::int64_t period_ns() const;
  [[nodiscard]] bool on() const { return limit_.kind != HangLimit::Kind::off; }
  std::optional<Hang> look(const std::vector<RankState>& ranks, std::int64_t now_ns);

 private:
  struct Seen {
    std::uint64_t events = 0;
    std::int64_t changed_ns = 0;
    std::uint16_t phase = 0;
    std::int64_t phase_gap_max_ns = 0;  // the longest silence inside a phase
  };
  [[nodiscard]] std::int64_t limit_of(const RankState& state, const Seen& seen) const;

  HangLimit limit_;
  std::vector<Seen> seen_;
};

}  // namespace headway::agent
