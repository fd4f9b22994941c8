// Batches on their way into the store: what comes in while one commit is under way goes into the
// next, so that the disk's pace limits how long a batch waits and not how many there are. An answer
// is given when the batch is durable, or not kept.
//
// A job whose rows in the store are damaged costs the others nothing: its batches are told to come
// later, theirs are kept.
//
// offer() from any thread; one thread of its own does the rest.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collector/jobs.h"
#include "net/http_server.h"
#include "store/store.h"

namespace headway::collector {

struct IntakeOptions {
  std::size_t waiting_max = 20'000;  // batches; beyond it senders are told to come later
  std::size_t commit_batches_max = 2'000;
  std::size_t commit_bytes_max = 64u << 20;
  // Slots of a commit are in memory all at once, and a few hundred bytes may unpack to 8 MiB of
  // them.
  std::size_t commit_unpacked_bytes_max = 64u << 20;
  // From the begin of one commit to that of the next, at least: pages that many batches change are
  // then written once and not for each of them.
  std::int64_t commit_gap_ns = 10'000'000;
};

struct IntakeCounts {
  std::uint64_t batches = 0, slots = 0, bytes = 0;  // kept
  std::uint64_t duplicates = 0, gaps = 0, refused = 0, turned_away = 0, commits = 0;
  std::uint64_t store_errors = 0;
};

// What the batches that wait, or those of a commit, come to.
struct IntakeLoad {
  std::size_t batches = 0, bytes = 0, unpacked_bytes = 0;
};

struct Offered {
  std::string tenant, job;
  std::uint64_t attempt = 0;
  std::string body;
  std::shared_ptr<net::Reply> reply;
  std::size_t unpacked_bytes = 0;  // as the batch tells it; set by offer()
};

class Intake {
 public:
  // `log`: one line each, of what went wrong on our side. `news`: a job has taken something in.
  Intake(store::Store& store, Jobs& jobs, IntakeOptions options,
         std::function<void(const std::string&)> log);
  ~Intake();  // what was offered is answered first
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  void offer(Offered offered);
  // Until all that was offered before is answered.
  void drain();
  [[nodiscard]] IntakeCounts counts() const;
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Item;
  using Key = std::pair<std::string, std::string>;  // tenant, job
  using OfJob = std::vector<Item*>;                 // in the order in which they came
  void run();
  std::vector<Offered> next();
  [[nodiscard]] bool is_full(const IntakeLoad& load) const;
  void keep(std::vector<Offered> offered);
  std::vector<Item> readable(std::vector<Offered> offered);
  void commit(std::span<const OfJob> jobs, std::int64_t now_ns);
  void refuse_all(std::span<const OfJob> jobs, const base::Status& why);
  void refuse_damaged(const OfJob& job, const base::Status& why);
  void answer(const Item& item, const store::Appended& appended);

  store::Store& store_;
  Jobs& jobs_;
  const IntakeOptions options_;
  const std::function<void(const std::string&)> log_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<Offered> waiting_;
  IntakeLoad load_;  // of those
  std::chrono::steady_clock::time_point next_commit_{};
  IntakeCounts counts_;
  std::string last_error_;
  std::map<Key, std::string> damaged_;   // jobs, and what is said of them
  std::size_t damaged_in_a_commit_ = 0;  // that were found by the one under way
  std::uint64_t offered_ = 0, answered_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace headway::collector
