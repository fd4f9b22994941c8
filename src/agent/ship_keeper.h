// The process that sends what a job records to a collector (`headway ship --follow`), as the agent
// sees it: started with the first attempt, started again with the next where it was killed, told to
// send the rest when the run ends. The journals are what waits while the collector is away, so
// whatever becomes of it nothing is lost but time: the sender of a later run sends what is left.
// That the collector takes nothing is passed on when it is said for the first time. Main thread
// only; only finish() waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "agent/chore.h"
#include "agent/console.h"
#include "agent/sweep.h"
#include "base/file.h"

namespace headway::agent {

struct ShipPlace {
  std::string collector;  // its address; empty: there is none
  std::string root;       // of all jobs
  std::string job;
};

class ShipKeeper final : public Chore {
 public:
  static constexpr std::int64_t look_ns = 1'000'000'000;  // at what the sender has said

  static constexpr std::int64_t finish_wait_ns = 10'000'000'000;
  static constexpr std::int64_t hurried_wait_ns = 1'000'000'000;

  ShipKeeper(Console& console, Sweep& sweep) : console_(console), sweep_(sweep) {}

  void open(ShipPlace place) { place_ = std::move(place); }
  // Before every attempt.
  void start();
  // All journals are closed: the rest is sent, for so long. `hurried`: somebody asked us to be
  // quick.
  void finish(bool hurried);

  [[nodiscard]] std::optional<std::int64_t> next_ns() const override { return next_look_ns_; }
  void serve(std::int64_t now_ns) override;
  void on_reaped(pid_t /*pid*/) override {}

 private:
  [[nodiscard]] bool is_gone();
  [[nodiscard]] std::string log_path() const;

  Console& console_;
  Sweep& sweep_;
  ShipPlace place_;
  base::UniqueFd alive_;  // our end of a pipe: closed, it tells the sender that nothing more comes
  pid_t pid_ = 0;
  int status_ = 0;  // of its end
  int starts_ = 0;
  std::optional<std::int64_t> next_look_ns_;  // none: there is nothing to be heard any more
  std::int64_t heard_bytes_ = 0;              // of the log
};

}  // namespace headway::agent
