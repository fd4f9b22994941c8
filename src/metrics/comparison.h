// Two jobs side by side: the numbers of their reports that can be set against each other, how many
// times as large one is as the other, and which of the two is better. Pure data and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/report.h"
#include "timeline/bucket.h"

namespace headway::metrics {

enum class Unit : std::uint8_t { pct, ns, count };
enum class Wanted : std::uint8_t {
  nothing,
  less,
  more
};  // `nothing`: a fact, neither good nor bad
enum class Verdict : std::uint8_t { none, same, better, worse };  // for the job, not the other one

// Differences below this part of the larger number are noise and not an improvement.
inline constexpr double same_within = 0.02;

struct Compared {
  std::string name;  // as in the report's JSON
  Unit unit = Unit::ns;
  Wanted wanted = Wanted::less;
  std::optional<double> job, against;  // nothing: that job has no such number

  // How many times as large the job's is. Nothing where one is missing or there is nothing to
  // divide by.
  [[nodiscard]] std::optional<double> ratio() const;
  [[nodiscard]] Verdict verdict() const;
};

struct Comparison {
  std::string job, against;
  std::vector<Compared> numbers;  // in the order in which a person asks for them
  std::array<Compared, timeline::kGroups> groups;
  std::array<Compared, timeline::kBuckets> buckets;
  bool same_work = false;          // as many new steps on as many ranks, both finished
  std::vector<std::string> notes;  // why it is not the same work, one line each
};

// Both of whole jobs.
[[nodiscard]] Comparison compare(const Report& job, const Report& against);

// The JSON of `headway report JOB --against OTHER --json` (docs/formats/report.md).
[[nodiscard]] std::string to_json(const Comparison& comparison);

}  // namespace headway::metrics
