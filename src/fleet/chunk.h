// Some two thousand attempts in columns: a star of attempts, their slices by day, their starts and
// failures. Attempts of one job lie together, by attempt, so that a scan sees whole jobs and can
// treat each as one draw of a sample. Buckets are packed: most of the 27 are 0 in any one slice, so
// each has a mask of those that are not and their values in a row.
//
// Written by a table (table.h) until it is shared, only read from then on.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "fleet/fact.h"
#include "timeline/bucket.h"

namespace headway::fleet {

// An attempt whose texts are numbers and whose numbers are sane: what a row is made of.
struct EncodedAttempt {
  struct Part {  // of wall time
    std::int32_t day = 0;
    timeline::Sums sums;
    std::int64_t failure_ns = 0, queued_ns = 0;
    std::uint32_t saves = 0;
  };
  struct Begun {
    std::int64_t from_ns = 0, trained_ns = 0, outside_ns = 0;
    bool recovery = false;
    timeline::Sums parts;
  };
  struct Failed {
    std::int64_t t_ns = 0, lost_ns = 0, unsaved_ns = 0;
    std::int64_t time_to_recover_ns = -1;  // below 0: none
    std::uint32_t host = 0;                // kNoHost: not known
    std::uint16_t category = 0;
    Origin origin = Origin::unknown;
  };
  static constexpr std::uint32_t kNoHost = std::numeric_limits<std::uint32_t>::max();

  std::int64_t attempt = 0, begin_ns = 0, end_ns = 0;
  std::array<std::uint16_t, kDimensions> dimensions{};
  std::uint32_t devices = 1;
  std::uint64_t levers = 0;
  Ending ending = Ending::running;
  std::vector<std::uint32_t> hosts;
  std::vector<Part> slices;
  bool has_start = false, has_failure = false;
  Begun start;
  Failed failure;
  std::optional<CacheFact> cache;
};

// The values of a packed set of buckets.
struct Packed {
  std::uint32_t mask = 0;
  const std::int64_t* values = nullptr;

  template <typename F>  // f(bucket index, ns)
  void each(F&& f) const {
    const std::int64_t* value = values;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      f(static_cast<std::size_t>(std::countr_zero(left)), *value++);
    }
  }
  [[nodiscard]] std::int64_t operator[](timeline::Bucket bucket) const {
    const std::uint32_t bit = 1u << timeline::index(bucket);
    return (mask & bit) == 0 ? 0 : values[std::popcount(mask & (bit - 1))];
  }
};

struct Chunk {
  static constexpr std::uint32_t attempts_aim = 2048;  // one job may go over it
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  struct Job {
    std::uint32_t id = 0;  // in the table's dictionary of jobs
    std::uint32_t first = 0, count = 0;
    bool live = true;
  };
  std::vector<Job> jobs;

  // One for each attempt.
  std::vector<std::int64_t> attempt, begin_ns, end_ns;
  std::array<std::vector<std::uint16_t>, kDimensions> dimensions;
  std::vector<std::uint32_t> devices;
  std::vector<std::uint64_t> levers;
  std::vector<Ending> ending;
  std::vector<std::uint32_t> first_slice{0};         // and one more: the end of the last
  std::vector<std::uint32_t> first_host{0};          // likewise
  std::vector<std::uint32_t> start, failure, cache;  // rows below, or kNone

  // One for each slice.
  std::vector<std::int32_t> day;
  std::vector<std::int64_t> wall_ns, effective_ns, failure_ns, queued_ns;
  std::vector<std::uint32_t> saves, slice_mask, slice_value;

  // One for each start.
  std::vector<std::int64_t> from_ns, trained_ns, outside_ns;
  std::vector<std::uint8_t> recovery;
  std::vector<std::uint32_t> start_mask, start_value;

  std::vector<EncodedAttempt::Failed> failures;
  std::vector<CacheFact> caches;
  std::vector<std::uint32_t> hosts;
  std::vector<std::int64_t> values;  // of packed buckets

  std::uint32_t attempts_dead = 0;
  // No slice, start or failure of it lies outside [day_min, day_max].
  std::int32_t day_min = std::numeric_limits<std::int32_t>::max();
  std::int32_t day_max = std::numeric_limits<std::int32_t>::min();

  [[nodiscard]] std::uint32_t attempts() const {
    return static_cast<std::uint32_t>(attempt.size());
  }
  [[nodiscard]] Packed slice_buckets(std::uint32_t slice) const {
    return {slice_mask[slice], values.data() + slice_value[slice]};
  }
  [[nodiscard]] Packed start_buckets(std::uint32_t row) const {
    return {start_mask[row], values.data() + start_value[row]};
  }

  // Begins a job behind the others; append() adds to it.
  std::uint32_t begin_job(std::uint32_t id);
  void append(const EncodedAttempt& row);
  // Whether `row` needs exactly the space that attempt `at` has.
  [[nodiscard]] bool same_shape(std::uint32_t at, const EncodedAttempt& row) const;
  void overwrite(std::uint32_t at, const EncodedAttempt& row);
  void read(std::uint32_t at, EncodedAttempt& out) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  void cover(std::int32_t day_number);
  void put_fixed(std::uint32_t at, const EncodedAttempt& row);
  void put_slice(std::uint32_t at, const EncodedAttempt::Part& part);
  void put_start(std::uint32_t at, const EncodedAttempt::Begun& begun);
};

}  // namespace headway::fleet
