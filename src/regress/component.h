// What is watched for change: one part of what starts, recoveries, loops and ends of attempts cost,
// or how often something befalls them. Plain data; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "timeline/bucket.h"

namespace headway::regress {

enum class Kind : std::uint8_t {
  start,          // seconds of a bucket in a Time to Start, where it occurs at all
  recover,        // the same of a Time to Recover; replay: until new data was trained
  loop,           // share of an attempt's in-loop time on a day
  end,            // seconds at the end of an attempt
  start_often,    // share of starts in which the bucket occurs
  recover_often,  // of recoveries
  failures,       // of one category, per device-hour
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::failures) + 1;

// How observations of a kind scatter.
enum class Law : std::uint8_t {
  log_normal,  // each observation by a factor; looked at as logarithms
  binomial,    // so many of so many
  poisson,     // so many in so much exposure
};

struct Component {
  Kind kind = Kind::start;
  timeline::Bucket bucket = timeline::Bucket::scheduling;  // not of failures
  std::string category;                                    // of failures: as `headway why` names it
  auto operator<=>(const Component&) const = default;
};

[[nodiscard]] Law law_of(Kind kind);
// "start", "loop", "failures", …
[[nodiscard]] std::string_view kind_word(Kind kind);
// "compile_cold", "recover:compile_cold", "often:compile_cold", "failures:gpu_oom": unique words.
[[nodiscard]] std::string component_name(const Component& component);
// For people: "cold compile at start".
[[nodiscard]] std::string component_label(const Component& component);
// "s", "pct" or "per_1000_device_hours".
[[nodiscard]] std::string_view component_unit(Kind kind);
// The bucket's word in the HTTP API: unique without its group.
[[nodiscard]] std::string bucket_word(timeline::Bucket bucket);

}  // namespace headway::regress
