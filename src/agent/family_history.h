// What the tuner of saves (interval/tuner.h) cannot see from inside a rank: how often earlier jobs
// of this one's family failed, and whether this job's last attempt was cut off. Read from the
// records below the jobs root by a thread of its own, while the ranks' Python starts; what is too
// much to read is left out, and what cannot be read is as if it were not there.
//
// Main thread, but for what the thread does.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <string>

#include "agent/environment.h"
#include "agent/options.h"
#include "interval/rate.h"

namespace headway::agent {

inline constexpr std::string_view kFamilyVariable = "HEADWAY_FAMILY_HISTORY";
inline constexpr std::string_view kLastEndVariable = "HEADWAY_LAST_END";

// "ctr" of --attr family=ctr, else the script's name; "": it has none.
[[nodiscard]] std::string family_of(const RunOptions& options);

class FamilyHistory {
 public:
  static constexpr std::size_t jobs_max = 64;               // the newest, that are looked at
  static constexpr std::uint64_t job_bytes_max = 64 << 20;  // of one's journals
  static constexpr std::uint64_t bytes_max = 256 << 20;     // of all of them
  static constexpr std::int64_t wait_ns = 200'000'000;      // of the first rank, for it to be known

  FamilyHistory() = default;
  ~FamilyHistory();
  FamilyHistory(const FamilyHistory&) = delete;
  FamilyHistory& operator=(const FamilyHistory&) = delete;

  // `first_attempt`: of this run; earlier ones of the job are over.
  void start(const std::string& root, const std::string& job, std::uint64_t first_attempt,
             const std::string& family);
  // An attempt of this run is over.
  void ended(bool cut_off) { cut_off_ = cut_off ? 1 : 0; }
  void add_to(Environment& environment);

 private:
  struct Found {
    interval::History family;
    int cut_off = -1;  // this job's last attempt; -1: it is not known
  };
  [[nodiscard]] Found read(const std::string& root, const std::string& job,
                           std::uint64_t first_attempt, const std::string& family) const;

  std::atomic<bool> leave_ = false;
  std::future<Found> reading_;
  Found found_;
  bool waited_ = false;
  int cut_off_ = -1;  // as seen by ourselves
};

}  // namespace headway::agent
