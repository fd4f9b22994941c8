// The whole of regression detection in one call: facts of attempts in, what has become slower or
// more frequent out, with since when, by how much, what it costs and what came with it. Pure: the
// clock is an argument, and what was found on earlier days comes in as `known`. Any thread; the
// facts must not change meanwhile.
//
// Only days that are over (UTC) are looked at: every question of one day is the same question, and
// what bench/regress finds of detection asked once a day is true of a caller that asks each hour,
// for the sake of what came late. A caller asks daily or oftener, keeps each regression by its key,
// and passes on those that are still open. With the same facts the answer is the same, and so is a
// regression's key from day to day.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fleet/fact.h"
#include "regress/change.h"
#include "regress/dip.h"
#include "regress/separator.h"
#include "regress/series.h"

namespace headway::regress {

enum class Verdict : std::uint8_t {
  open,
  gone,        // the newest data is back where it was
  shift,       // as much was saved elsewhere in the same attempts, at the same time
  mix,         // other jobs run: `explained_by` says by which dimension one sees it
  preemption,  // recoveries changed because more jobs are preempted
};
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

// A regression that was found before and has not gone since.
struct Known {
  std::string key;
  std::vector<std::string> members;
  std::int32_t began_day = 0;
  std::int32_t low_day = INT32_MAX, high_day = INT32_MIN;  // in which it lies, with 95%; else none
  std::int64_t found_ns = 0;
  double q_value = 0;
};

struct WatchOptions {
  SeriesOptions series;
  ChangeOptions change;
  DipOptions dip;
  SeparatorOptions separators;
  double q_max = 0.15;              // false among what is announced, at most, as a share
  double change_min_pct = 1;        // smaller ones are nobody's business
  std::int32_t near_days = 3;       // changes this close together may be one
  std::int32_t doubt_days = 7;      // so much may a first guess have been wrong, if it was in doubt
  std::int32_t compared_days = 14;  // on each side, for explanations
  std::size_t regressions_max = 200;  // told; the dearest, and all that are known
  std::size_t attempts_max = 20;
  std::size_t judged_max = 500;  // rises that are looked at closely in one call; the surest
  std::vector<Known> known;
};

struct Regression {
  std::string key;
  Component component;
  std::vector<std::pair<fleet::Dimension, std::string>> stratum;  // what all members share
  std::vector<std::string> members;  // "COMPONENT|STRATUM", the dearest first: seen in each of them
  Verdict verdict = Verdict::open;
  std::string explained_by;  // a dimension's name, of a mix

  std::int32_t began_day = 0;
  std::int64_t began_ns = 0;  // the first bad observation, or the day's begin
  std::int64_t began_low_ns = 0, began_high_ns = 0;  // in which it lies, with 95%
  std::int64_t found_ns = 0;
  double before = 0, after = 0;  // in component_unit(component.kind)
  double change_pct = 0;
  double device_hours_per_day = 0;  // of all members
  double q_value = 1;

  std::vector<std::size_t> attempts;  // indices of facts; those that it cost most
  std::vector<Separator> separates;
  Dip dip;  // of the shared stratum; no terms where a side has no time

  [[nodiscard]] double time_to_alert_s() const {
    return std::max(0.0, static_cast<double>(found_ns - began_ns) / 1e9);
  }
};

struct Findings {
  std::vector<Regression> regressions;  // new ones and all that are known; the dearest first
  std::vector<Regression> explained;    // rises that are none: gone at once, shift, mix, preemption
  std::vector<std::string> vanished;    // keys of known ones whose series have no data any more
  std::size_t series = 0;               // looked at
  std::size_t series_left_out = 0, strata_left_out = 0, regressions_left_out = 0;
};

[[nodiscard]] Findings watch(std::span<const fleet::AttemptFacts> facts,
                             const WatchOptions& options, std::int64_t now_ns);

// What to pass as `known` next time.
[[nodiscard]] Known known_of(const Regression& regression);

}  // namespace headway::regress
