// Looks for regressions in every tenant's facts from time to time, where there are new ones or a
// day is over, keeps what it finds as alerts and tells of what has changed. Holds the facts of the
// watched days in memory (watched_facts.h). One thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collector/alerts.h"
#include "collector/watched_facts.h"
#include "regress/watch.h"
#include "store/store.h"

namespace headway::collector {

struct WatcherOptions {
  bool on = true;
  std::int64_t every_ns = 3'600'000'000'000;
  std::size_t facts_bytes_max = 1u << 30;  // of a tenant's facts
  regress::WatchOptions watch;             // bench/regress judges these very ones
};

struct WatchState {
  std::int64_t checked_ns = 0;                      // 0: not yet
  std::size_t series = 0, left_out = 0;             // series, strata and regressions
  std::size_t attempts = 0, attempts_left_out = 0;  // of the watched days
};

class Watcher {
 public:
  // `news`: alerts that are new or have changed; on the watcher's thread.
  Watcher(store::Store& store, Alerts& alerts, WatcherOptions options,
          std::function<void(const std::string&)> log,
          std::function<void(const std::vector<store::AlertRow>&)> news);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Looks, and returns when it has. `as_of_ns`: as if it were then, else now.
  void look(std::optional<std::int64_t> as_of_ns = {});
  [[nodiscard]] WatchState state(const std::string& tenant) const;

 private:
  struct Tenant {
    WatchedFacts facts;
    bool looked_at = false;       // as they are
    std::int32_t looked_day = 0;  // and on this day
  };
  void run();
  base::Status refresh(std::int64_t now_ns);
  [[nodiscard]] std::int32_t oldest_day(std::int64_t now_ns) const;
  base::Status look_at(const std::string& name, Tenant& tenant, std::int64_t now_ns);
  void round(std::int64_t now_ns);

  store::Store& store_;
  Alerts& alerts_;
  const WatcherOptions options_;
  const std::function<void(const std::string&)> log_;
  const std::function<void(const std::vector<store::AlertRow>&)> news_;
  std::int64_t change_ = 0;
  std::map<std::string, Tenant> tenants_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, WatchState> states_;
  std::uint64_t asked_ = 0, done_ = 0;
  std::optional<std::int64_t> as_of_ns_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headway::collector
