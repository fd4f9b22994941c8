// The jobs that the collector has in mind: those that report, and those that somebody looks at.
// Each is taken in under a lock of its own; long reading goes on beside it. What is not looked at
// and says nothing is forgotten: the store has it. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collector/job_keeper.h"
#include "store/store.h"

namespace headway::collector {

struct JobsOptions {
  std::size_t jobs_max = 20'000;                  // in mind
  std::int64_t idle_ns = 600'000'000'000;         // forgotten after that
  std::int64_t silent_ns = 60'000'000'000;        // without a word, a job no longer runs
  std::int64_t clocks_differ_ns = 5'000'000'000;  // of collectors that share a store, at most
  int reread_share = 10;                          // of the time at most one in so many
};

// A job as it stands, for as long as nobody takes in more of it.
struct JobView {
  const store::JobRow& job;
  bool alive;  // heard of lately, and not over
  const timeline::JobResult& result;
  const event::JobStreams& names;  // and no streams
  std::int64_t seq;                // of the newest batch in it
};

// A job that something was heard of. `changes` goes up with everything that is.
struct Heard {
  std::string tenant, job;
  std::uint64_t changes = 0;
};

class Jobs {
 public:
  Jobs(store::Store& store, JobsOptions options) : store_(store), options_(options) {}

  // A batch that the store has taken. `fresh`: the first of its job.
  void took(const store::Append& append, const store::Appended& appended, bool fresh,
            std::span<event::Record> slots);
  // False: there is no such job. not_found: there was, and its batches were forgotten.
  base::Result<bool> view(const std::string& tenant, const std::string& name, std::int64_t now_ns,
                          const std::function<void(const JobView&)>& use);
  // All in mind.
  [[nodiscard]] std::vector<Heard> heard() const;
  // From time to time: forgets.
  void tend();
  [[nodiscard]] std::size_t size() const;

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, name
  struct Entry {
    std::mutex mutex;
    std::condition_variable done;
    std::unique_ptr<JobKeeper> keeper;
    bool rereading = false;  // somebody reads the store for it, and the keeper is theirs
    bool behind = false;     // the store has what the keeper was not told
    base::Status trouble;    // of the last time that it was read: told until it was read again
    // By the monotonic clock, which nobody sets: when it may be read again, and since when nothing
    // was heard of it.
    std::int64_t next_reread_ns = INT64_MIN;
    std::int64_t silent_since_ns = INT64_MIN;
    std::int64_t seen_seq = 0;  // of the store's row, when it was last looked at
    std::atomic<std::int64_t> used_ns{0};
    std::atomic<std::uint64_t> changes{0};
  };
  std::shared_ptr<Entry> find(const Key& key);
  std::shared_ptr<Entry> find_or_add(const Key& key, const store::JobRow& row, bool fresh);
  void look_at_row(Entry& entry, const store::JobRow& stored, std::int64_t now_ns) const;
  base::Status put_in_order(Entry& entry, std::unique_lock<std::mutex>& lock);
  base::Status catch_up(Entry& entry, std::unique_lock<std::mutex>& lock, std::int64_t newest_seq);

  store::Store& store_;
  const JobsOptions options_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
};

}  // namespace headway::collector
