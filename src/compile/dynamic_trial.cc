#include "compile/dynamic_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headway::compile {
namespace {

// One kind of attempts together.
struct Side {
  std::vector<std::int64_t> step_ns, saved_us, steps;
  double doubt_ns = 0;  // of the median

  void add(const TrialRecord& record) {
    step_ns.push_back(record.step_ns);
    saved_us.push_back(record.saved_us);
    steps.push_back(record.steps);
    // 95% of the doubt in one attempt's median, from its quartiles (McGill's notch).
    const double notch = 1.57 * static_cast<double>(record.spread_ns) /
                         std::sqrt(static_cast<double>(record.measured));
    doubt_ns = std::max(doubt_ns, notch);
  }
};

Side side_of(const std::vector<TrialRecord>& records, std::string_view setup, bool applied) {
  Side side;
  for (auto it = records.rbegin(); it != records.rend(); ++it) {
    if (it->setup != setup || it->applied != applied || it->measured < kTrialStepsMin) continue;
    if (side.step_ns.size() < kTrialRecordsUsed) side.add(*it);
  }
  // Attempts differ among themselves, too.
  if (side.step_ns.size() >= 3) {
    const auto [low, high] = std::minmax_element(side.step_ns.begin(), side.step_ns.end());
    side.doubt_ns = std::max(side.doubt_ns, static_cast<double>(*high - *low) / 2);
  }
  return side;
}

std::string seconds(std::int64_t us) {
  return fmt::format("{:.2f} s", static_cast<double>(us) / 1e6);
}

std::string milliseconds(std::int64_t ns) {
  return fmt::format("{:.3g} ms", static_cast<double>(ns) / 1e6);
}

}  // namespace

std::int64_t median_of(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return values[middle - 1] + (values[middle] - values[middle - 1]) / 2;
}

TrialVerdict judge_trial(const std::vector<TrialRecord>& records, std::string_view setup) {
  const Side with = side_of(records, setup, true), without = side_of(records, setup, false);
  TrialVerdict out;
  if (with.step_ns.empty() || without.step_ns.empty()) {
    out.text = fmt::format("not compared yet: no attempt {} it has {} measured steps",
                           with.step_ns.empty() ? "with" : "without", kTrialStepsMin);
    return out;
  }
  out.with_ns = median_of(with.step_ns);
  out.without_ns = median_of(without.step_ns);
  out.saved_us = median_of(without.saved_us);
  std::vector<std::int64_t> steps = with.steps;
  steps.insert(steps.end(), without.steps.begin(), without.steps.end());
  out.steps = median_of(steps);
  const std::string times = fmt::format("a step takes {} with it and {} without",
                                        milliseconds(out.with_ns), milliseconds(out.without_ns));
  const auto slower_ns = static_cast<double>(out.with_ns - out.without_ns);
  const double noise_ns = std::max(with.doubt_ns + without.doubt_ns,
                                   static_cast<double>(out.without_ns) * (kTrialSlowerMin - 1));
  if (slower_ns <= noise_ns) {
    out.outcome = TrialOutcome::keep;
    out.text =
        fmt::format("{}, which is no more than steps differ by; {} of compiling saved an attempt",
                    times, seconds(out.saved_us));
    return out;
  }
  out.lost_us =
      static_cast<std::int64_t>(std::min(slower_ns * static_cast<double>(out.steps) / 1e3, 9e18));
  out.outcome = out.lost_us > out.saved_us ? TrialOutcome::take_back : TrialOutcome::keep;
  out.text = fmt::format("{}: {} more in the {} steps of an attempt, {} of compiling saved", times,
                         seconds(out.lost_us), out.steps, seconds(out.saved_us));
  return out;
}

}  // namespace headway::compile
