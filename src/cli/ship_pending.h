// What earlier jobs of this machine have not sent to their collector yet. A job that is sent while
// it runs has a note in its folder until all of it has arrived; whoever sends a later one finds
// those notes and sends what is left, an earlier job's batch after whatever it has of its own.
// Two who do so at once only do it twice.
//
// One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "ingest/shipper.h"
#include "net/http.h"

namespace headway::cli {

// Of this machine, in the job's folder. What cannot be written is not noted.
void note_unsent(const std::string& job_dir, const std::string& collector);
void forget_unsent(const std::string& job_dir);

class CatchUp {
 public:
  // The newest of them; older ones wait for somebody who names them.
  static constexpr std::size_t jobs_max = 100;

  // `own_job`: which somebody sends already. `pause_ns`: between two batches, at least.
  CatchUp(net::Transport& transport, ingest::Destination to, std::string root, std::string own_job,
          std::int64_t pause_ns);

  struct Step {
    std::int64_t wait_ns = 0;  // until the next one can do something
    std::string note = {};     // one line for a person
  };
  // Sends one batch at most.
  Step step(std::int64_t now_ns, std::int64_t real_ns);
  [[nodiscard]] bool over() const { return !shipper_ && waiting_.empty(); }
  [[nodiscard]] std::uint64_t batches_sent() const {
    return batches_ + (shipper_ ? shipper_->counts().batches : 0);
  }
  [[nodiscard]] std::uint64_t refused_journals() const { return refused_; }
  [[nodiscard]] std::size_t jobs_sent() const { return jobs_sent_; }

 private:
  void find(const std::string& own_job);
  void begin(std::uint64_t seed);
  std::string finish();

  net::Transport& transport_;
  const ingest::Destination to_;
  const std::string root_;
  const std::int64_t pause_ns_;
  std::deque<std::string> waiting_;  // jobs, the newest first
  std::string job_;
  std::unique_ptr<ingest::Shipper> shipper_;  // of `job_`
  std::int64_t next_ns_ = INT64_MIN;
  std::string first_note_;
  std::uint64_t batches_ = 0, refused_ = 0;  // of jobs that are done
  std::size_t jobs_sent_ = 0;
};

}  // namespace headway::cli
