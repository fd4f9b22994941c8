// The process that sends what a job records to a collector (`headway ship --follow`), as the agent
// sees it: started with the first attempt, started again with the next where it was killed, told to
// send the rest when the run ends. The journals are what waits while the collector is away, so
// whatever becomes of it nothing is lost but time: the sender of a later run sends what is left.
// Main thread only; only finish() waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "agent/console.h"
#include "agent/sweep.h"
#include "base/file.h"

namespace headway::agent {

struct ShipPlace {
  std::string collector;  // its address; empty: there is none
  std::string root;       // of all jobs
  std::string job;
};

class ShipKeeper {
 public:
  static constexpr std::int64_t finish_wait_ns = 10'000'000'000;
  static constexpr std::int64_t hurried_wait_ns = 1'000'000'000;

  ShipKeeper(Console& console, Sweep& sweep) : console_(console), sweep_(sweep) {}
  ShipKeeper(const ShipKeeper&) = delete;
  ShipKeeper& operator=(const ShipKeeper&) = delete;

  void open(ShipPlace place) { place_ = std::move(place); }
  // Before every attempt.
  void start();
  // All journals are closed: the rest is sent, for so long. `hurried`: somebody asked us to be
  // quick.
  void finish(bool hurried);

 private:
  [[nodiscard]] bool is_gone();

  Console& console_;
  Sweep& sweep_;
  ShipPlace place_;
  base::UniqueFd alive_;  // our end of a pipe: closed, it tells the sender that nothing more comes
  pid_t pid_ = 0;
  int status_ = 0;  // of its end
  int starts_ = 0;
};

}  // namespace headway::agent
