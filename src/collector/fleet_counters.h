// A fleet's account as counters: what has been added to it since this collector began to count. A
// table says what the fleet comes to as a whole, and that may go down: an attempt that runs is
// attributed anew every few seconds, late journals move time from one bucket to another, old data
// are forgotten. A counter must not, or whoever reads it takes the next value for all new. So:
//
// - Counting begins at 0 with the first snapshot. After a restart it does so again, which readers
//   expect.
// - A counter whose account has shrunk stands still until the account has caught up. Nothing is
//   counted twice.
// - Where attempts are gone from a label set, they were forgotten: its counters go on from where
//   they are, with what is left as the new beginning.
//
// Label sets are bounded: the largest by device time at the beginning get their names, later ones
// as long as there is room, and keep them; the rest are told together as "other". Nothing that
// names a job, a host or an attempt is in them.
//
// Pure but for its own state; one thread at a time. The snapshots are of one table.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/wide.h"
#include "fleet/cache_sum.h"
#include "fleet/table.h"
#include "interchange/export_families.h"

namespace headway::collector {

class Counter {
 public:
  // As the account has it now. `forgotten`: of what was in it, some is gone.
  void take(base::Int128 account, bool forgotten) {
    if (forgotten && account - before_ < told_) before_ = account - told_;
    if (account - before_ > told_) told_ = account - before_;
  }
  // Counts from here.
  void begin(base::Int128 account) { before_ = account; }
  [[nodiscard]] base::Int128 told() const { return told_; }

 private:
  base::Int128 before_ = 0, told_ = 0;
};

class FleetCounters {
 public:
  static constexpr std::size_t label_sets_max = 50;    // and one for the rest
  static constexpr std::size_t causes_max = 16;        // of a label set, and one for each origin
  static constexpr std::size_t newcomers_max = 65536;  // that are weighed at once
  static constexpr std::int64_t silent_ns = 300'000'000'000;      // then an attempt no longer runs
  static constexpr std::int64_t unended_ns = 86'400'000'000'000;  // then nobody looks for it
  static constexpr std::int32_t recent_days = 7;                  // of shares
  static constexpr std::array<fleet::Dimension, 4> kDimensions = {
      fleet::Dimension::family, fleet::Dimension::team, fleet::Dimension::cluster,
      fleet::Dimension::hardware};
  static constexpr std::array<double, 12> kBounds_s = {5,   10,  30,   60,   120,  300,
                                                       600, 900, 1800, 3600, 7200, 21600};
  static constexpr std::string_view kOther = "other";

  // One that is older than the last is passed over.
  void take(const fleet::Snapshot& snapshot, std::int64_t now_ns);
  void append_to(interchange::Families& out) const;

 private:
  using LabelKey = std::uint64_t;  // the numbers of four values
  using Bins = std::array<std::uint64_t, kBounds_s.size() + 1>;
  static constexpr std::size_t kOrigins = 4;
  static constexpr std::array<std::string_view, 3> kGraphs = {"hit", "miss", "bypass"};

  // What one label set comes to in a snapshot.
  struct Account {
    std::array<base::Int128, timeline::kBuckets> device_ns{};
    base::Int128 failure_ns = 0, unsaved_ns = 0;  // of devices
    base::Int128 queued_ns = 0;                   // of jobs
    std::uint64_t attempts = 0, saves = 0;
    fleet::CacheSum cache;
    std::array<std::uint64_t, kOrigins> origins{};
    std::map<std::pair<std::uint8_t, std::uint16_t>, std::uint64_t> causes;
    Bins starts{}, recoveries{};
    base::Int128 starts_ns = 0, recoveries_ns = 0;
    std::uint64_t jobs_running = 0, devices_running = 0, jobs_unended = 0;
    base::Int128 recent_ns = 0, recent_effective_ns = 0, recent_failure_ns = 0;
  };
  // What is told of it.
  struct Told {
    interchange::Labels labels;
    std::array<Counter, timeline::kBuckets> device_ns;
    Counter failure_ns, unsaved_ns, queued_ns, attempts, saves, starts_ns, recoveries_ns;
    Counter cache_original_ns, cache_spent_ns;
    std::array<Counter, kGraphs.size()> graphs;
    std::array<Counter, kOrigins> origins;
    std::map<std::pair<std::uint8_t, std::string>, Counter> causes;
    std::array<Counter, kBounds_s.size() + 1> starts, recoveries;
    Account last;
    bool begun = false;
  };

  [[nodiscard]] static LabelKey key_of(const fleet::Chunk& chunk, std::uint32_t at);
  void name_newcomers(const fleet::Snapshot& snapshot);
  void add(const fleet::Chunk& chunk, const fleet::Chunk::Job& job, std::int64_t now_ns,
           std::vector<Account>& accounts) const;
  static void add_attempt(const fleet::Chunk& chunk, std::uint32_t at, std::int32_t recent_from,
                          Account& to);
  template <typename F>  // f(Counter&, what the account says)
  static void each_counter(Told& told, const Account& account, F&& f);
  void take_set(Told& told, Account account, const fleet::DictionaryView& categories);
  static std::map<std::pair<std::uint8_t, std::string>, std::uint64_t> causes_of(
      const Told& told, const Account& account, const fleet::DictionaryView& categories);
  void append_times(interchange::Families& out) const;
  void append_counts(interchange::Families& out) const;
  void append_caches(interchange::Families& out) const;
  void append_durations(interchange::Families& out) const;
  void append_gauges(interchange::Families& out) const;

  std::unordered_map<LabelKey, std::uint32_t> named_;  // → place in told_
  std::vector<Told> told_;                             // the rest first
  std::uint64_t version_ = 0;                          // of the last snapshot
  bool begun_ = false;
};

}  // namespace headway::collector
