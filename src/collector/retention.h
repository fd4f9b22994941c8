// Forgets what is older than one wants to keep: the batches of jobs that have not been heard of for
// so long, and later what they added up to. Looks from time to time; where several collectors share
// a store one of them does it (store.h). One thread of its own.
//
// How old something is, is told by the clock: where that has jumped since this was made, nothing is
// forgotten.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collector/fleet_tables.h"
#include "store/store.h"

namespace headway::collector {

struct RetentionOptions {
  std::optional<std::int64_t> keep_raw_ns, keep_facts_ns;  // none: for ever
  std::int64_t every_ns = 3'600'000'000'000;
  std::function<std::int64_t()> real_ns = base::real_ns;
  std::function<std::int64_t()> steady_ns = [] { return base::clock_ns(CLOCK_BOOTTIME); };
};

struct RetentionCounts {
  std::uint64_t jobs = 0, facts = 0;  // forgotten: the batches of so many, and of attempts
  std::uint64_t errors = 0;
};

class Retention {
 public:
  static constexpr std::int64_t jump_ns_max = 3'600'000'000'000;

  // `changed`: tenants whose facts are fewer now; on the thread of this.
  Retention(store::Store& store, FleetTables& tables, RetentionOptions options,
            std::function<void(const std::string&)> log,
            std::function<void(const std::vector<std::string>&)> changed);
  ~Retention();  // what is under way is done first
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;

  // Looks now, and returns when it has.
  void look();
  [[nodiscard]] RetentionCounts counts() const;

 private:
  void run();
  void round();
  base::Status forget_raw(std::int64_t now_ns);
  base::Status forget_facts(std::int64_t now_ns);
  [[nodiscard]] std::int64_t offset_ns() const { return options_.real_ns() - options_.steady_ns(); }

  store::Store& store_;
  FleetTables& tables_;
  const RetentionOptions options_;
  const std::function<void(const std::string&)> log_;
  const std::function<void(const std::vector<std::string>&)> changed_;
  const std::int64_t offset_ns_;
  std::string last_error_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  RetentionCounts counts_;
  std::uint64_t asked_ = 0, done_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headway::collector
