// Writes what each job comes to into the store, as facts of its attempts, while it runs: the
// fleet's account is made from them. A job that was heard of for the first time is told within a
// quarter of a second, one of which something new was heard within a second; one that merely goes
// on every two seconds, and less often where there are so many that telling them would take a good
// part of a core: that does not keep a job waiting that was never told.
//
// One thread of its own. What it has not told when it ends is told by the next one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collector/jobs.h"
#include "store/store.h"

namespace headway::collector {

struct TellerOptions {
  std::int64_t look_ns = 250'000'000;
  std::int64_t again_ns = 2'000'000'000;      // of a job that goes on
  int share = 10;                             // of the time at most one in so many,
  std::int64_t pause_max_ns = 5'000'000'000;  // but never less often than that
  std::size_t commit_facts_max = 1000;
};

// A job as it was told last.
struct ToldJob {
  std::string tenant, job;
  std::string_view state;
};

class FactTeller {
 public:
  // `told`: after every round, the jobs whose facts were written, on the teller's thread.
  FactTeller(store::Store& store, Jobs& jobs, TellerOptions options,
             std::function<void(const std::string&)> log,
             std::function<void(const std::vector<ToldJob>&)> told);
  ~FactTeller();
  FactTeller(const FactTeller&) = delete;
  FactTeller& operator=(const FactTeller&) = delete;

  // All that was heard of until now is told when it returns. For tests, and before a clean end.
  void flush();

 private:
  using Key = std::pair<std::string, std::string>;
  struct Told {
    std::uint64_t changes = 0;
    bool alive = true;
    std::int64_t again_ns = INT64_MIN;               // by the monotonic clock
    std::string trouble;                             // that was said of it
    std::map<std::int64_t, std::uint32_t> attempts;  // → checksum of the facts in the store
  };
  void run();
  enum class Of : std::uint8_t { fresh, due, all };
  void round(Of which);
  base::Status tell(const Heard& heard, std::vector<store::FactPut>& puts,
                    std::vector<ToldJob>& told);

  store::Store& store_;
  Jobs& jobs_;
  const TellerOptions options_;
  const std::function<void(const std::string&)> log_;
  const std::function<void(const std::vector<ToldJob>&)> on_told_;
  std::map<Key, Told> told_;
  std::string last_error_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::uint64_t asked_ = 0, done_ = 0;  // flushes
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headway::collector
