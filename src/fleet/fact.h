// What a fleet is reckoned from: for every attempt of every job, the few numbers that roll-ups,
// waterfalls and change detection need. Made from a job's timeline (facts_of.h), kept by the
// collector as bytes (fact_bytes.h), held in columns (table.h). Plain data; integers of
// nanoseconds, so that any grouping of them adds up exactly.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/bucket.h"

namespace headway::fleet {

// What attempts are grouped and chosen by. Each is the attribute of that name (`--attr team=ads`);
// size is the class of the number of devices ("1", "2-7", "8-63", "64-511", "512+"), priority what
// the scheduler or the user called it. An attribute that was not given is "".
enum class Dimension : std::uint8_t {
  family,
  team,
  cluster,
  hardware,
  size,
  torch,
  priority,
  revision,
  config,
};
inline constexpr std::size_t kDimensions = static_cast<std::size_t>(Dimension::config) + 1;
[[nodiscard]] std::string_view dimension_name(Dimension dimension);
[[nodiscard]] std::optional<Dimension> dimension_of(std::string_view name);
[[nodiscard]] std::string_view size_class(std::uint32_t devices);

// Days are counted from 1970-01-01 UTC.
inline constexpr std::int64_t kDayNs = 86'400'000'000'000;
[[nodiscard]] constexpr std::int32_t day_of(std::int64_t t_ns) {
  const std::int64_t day = t_ns / kDayNs;
  return static_cast<std::int32_t>(t_ns % kDayNs < 0 ? day - 1 : day);
}

// The part of an attempt's wall time that lies on one day. The slices of all attempts of a job sum
// to the job's partition, bucket by bucket, to the nanosecond.
struct Slice {
  std::int32_t day = 0;
  timeline::Sums sums;
  std::int64_t failure_ns = 0;  // of sums: what Failure% holds
  std::int64_t queued_ns = 0;   // beside the wall
  std::uint32_t saves = 0;      // checkpoints; on the attempt's last day
  bool operator==(const Slice&) const = default;
};

// An attempt that got as far as training. `from_ns` is the allocation, or where this is a recovery
// the first failure that nobody had recovered from yet.
struct Start {
  std::int64_t from_ns = 0;
  std::int64_t trained_ns = 0;  // training began
  bool recovery = false;        // then the length is a Time to Recover, else a Time to Start
  timeline::Sums parts;         // of [from_ns, trained_ns)
  std::int64_t outside_ns = 0;  // queued meanwhile: parts.total() + outside_ns is the length

  [[nodiscard]] std::int64_t length_ns() const { return trained_ns - from_ns; }
  bool operator==(const Start&) const = default;
};

enum class Origin : std::uint8_t { infra = 1, preemption = 2, user = 3, unknown = 4 };
[[nodiscard]] std::string_view origin_name(Origin origin);

struct FailureFact {
  std::int64_t t_ns = 0;
  Origin origin = Origin::unknown;
  std::string category;  // as `headway why` names it; "": nobody has judged it
  std::string host;      // of the rank that failed first; "": not known
  std::int64_t lost_ns = 0;
  std::int64_t unsaved_ns = 0;
  std::optional<std::int64_t> time_to_recover_ns;  // none: not yet, or never
  bool operator==(const FailureFact&) const = default;
};

// What compile caches were worth to an attempt, as its ranks and launchers noted it
// (metrics/compile_cache.h). Graphs are sums over ranks; of times the slowest rank's count.
struct CacheFact {
  bool asked = false;     // for archives of a cache that jobs share
  bool unpacked = false;  // some of them, for this attempt or for one before it where this one runs
  std::uint32_t hits = 0, misses = 0;  // graphs looked for
  std::uint32_t bypasses = 0;          // graphs that torch does not keep
  std::int64_t original_ns = 0;        // what took so long once was wholly found
  std::int64_t spent_ns = 0;           // on the same, now

  [[nodiscard]] std::uint64_t graphs() const { return std::uint64_t{hits} + misses + bypasses; }
  bool operator==(const CacheFact&) const = default;
};

enum class Ending : std::uint8_t { running = 0, clean = 1, failed = 2 };

struct AttemptFacts {
  std::int64_t attempt = 0;
  // Attempts of one job have the same number; 0: it is alone. Not in its bytes: who keeps facts
  // knows whose they are.
  std::uint64_t job = 0;
  std::array<std::string, kDimensions> dimensions;
  std::uint32_t devices = 1;  // what device-hours are counted by: ranks, where nobody says more
  // Names of what takes time back and was switched on, sorted: attributes `lever.NAME` whose value
  // is neither empty, "0", "off" nor "false".
  std::vector<std::string> levers;
  std::vector<std::string> hosts;  // sorted, each once; at most hosts_max
  std::int64_t begin_ns = 0, end_ns = 0;
  Ending ending = Ending::running;
  std::vector<Slice> slices;  // by day; at least one
  std::optional<Start> start;
  std::optional<FailureFact> failure;
  std::optional<CacheFact> cache;  // none: nothing was noted

  static constexpr std::size_t hosts_max = 4096, levers_max = 64, slices_max = 4096;
  static constexpr std::size_t text_max = 200;  // of any text above; longer ones are cut
  bool operator==(const AttemptFacts&) const = default;
};

}  // namespace headway::fleet
