// Slurm, asked through `scontrol`. Never in the job's way: a question is started and read later, a
// controller that is slow or away costs a bounded moment and then counts as "not known". Of several
// nodes only the first asks, or a thousand agents would at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/ask.h"
#include "agent/console.h"
#include "agent/identity.h"
#include "agent/scheduler.h"
#include "agent/signals.h"
#include "agent/slurm.h"

namespace headway::agent {

class SlurmScheduler final : public Scheduler {
 public:
  static constexpr std::int64_t answer_bound_ns = 10'000'000'000;  // then a question is given up
  static constexpr std::int64_t launch_wait_ns = 500'000'000;      // what a launch waits for times
  static constexpr std::int64_t notice_wait_ns = 500'000'000;  // what a notice waits for a reason
  static constexpr std::int64_t end_wait_ns = 3'000'000'000;   // what a rank's end does

  SlurmScheduler(const SlurmInfo& info, const Environment& environment, const Signals& signals,
                 RequeueWhen when);

  // The times of this allocation. ask_times() returns at once; times() waits at most `wait_ns`.
  void ask_times();
  std::optional<SlurmTimes> times(std::int64_t wait_ns);

  [[nodiscard]] bool may_announce(int signal) const override;
  void on_signal(std::int64_t now_monotonic_ns) override;
  bool ending() override { return cause(notice_wait_ns) != StopCause::unknown; }
  bool ranks_have_it() override;
  std::optional<std::int64_t> take_notice_ns() override;
  void await_cause() override { (void)cause_at_end(); }
  int stop_origin() override { return origin_of(cause()); }

  // Why we were told to stop, as far as it is known by then.
  StopCause cause(std::int64_t wait_ns = 0);
  // When all ranks have ended and there is time: waits for the answer, and if that was none or said
  // nothing, asks once more.
  StopCause cause_at_end();

  // All ranks have ended after a notice: sees to it that the job comes back, and
  // returns when we may exit. Where Slurm refuses a requeue by ourselves, it stays until Slurm ends
  // us, which does the same, later.
  void come_back(Console& console, Signals& own_signals);

 private:
  [[nodiscard]] std::string words() const;
  void ask_why();
  StopCause cause_by_now();
  void ask_job(Ask& ask) const;
  void stay_until_told(Signals& own_signals) const;

  const SlurmInfo info_;
  Environment environment_;
  const Signals& signals_;
  const bool asks_;
  const RequeueWhen when_;
  Ask launch_ask_;
  Ask config_ask_;
  Ask stop_ask_;
  std::optional<SlurmJob> at_launch_;
  std::optional<SlurmJob> at_stop_;
  std::int64_t output_bytes_at_launch_ = -1;  // of the job's stderr; -1: not known
  std::optional<std::int64_t> notice_ns_;
  std::int64_t notice_real_s_ = 0;
  bool notice_taken_ = false;
  bool asked_at_end_ = false;
  bool again_ = false;  // told once more after the cause was known: the grace time is over
};

}  // namespace headway::agent
