#include "timeline/attempt_end.h"

#include <algorithm>
#include <csignal>

namespace headway::timeline {
namespace {

// From a rank's death to its launcher's word of it; torchrun looks ten times a second.
constexpr std::int64_t echo_max_ns = 5'000'000'000;

bool bad(const EndMark& exit) {
  return exit.info.exit_code != 0 || exit.info.signal != 0 || exit.info.origin != HW_ORIGIN_NONE;
}

bool earlier(const EndMark& a, const EndMark& b) {
  if (a.t_ns != b.t_ns) return a.t_ns < b.t_ns;
  return a.info.rank < b.info.rank;
}

// A rank that is killed cannot say so: its launcher does, some time later. Exceptions of other
// ranks in between are about the peer that they lost. SIGABRT is no such death: it is how torch's
// own threads end a process that has lost its peers.
const EndMark& behind_echo(const EndMark& first, const Facts& facts) {
  if (first.from_agent) return first;
  const auto has_own_word = [&](std::uint32_t rank) {
    return std::any_of(facts.failures.begin(), facts.failures.end(),
                       [rank](const EndMark& m) { return !m.from_agent && m.info.rank == rank; });
  };
  for (const EndMark& f : facts.failures) {
    const bool killed = f.from_agent && f.info.signal != 0 && f.info.signal != SIGABRT;
    if (!killed || f.t_ns - first.t_ns > echo_max_ns) continue;
    return has_own_word(f.info.rank) ? first : f;
  }
  return first;
}

// At the moment of a death the launcher states no reason. If it does, it has looked at everything
// that there is, and names the cause: another rank, perhaps, than the one that fell first.
void adopt_verdict(const EndMark& mark, event::EndInfo& info) {
  if (!mark.from_agent || mark.info.reason == 0) return;
  info.reason = mark.info.reason;
  if (mark.info.origin != HW_ORIGIN_NONE && mark.info.origin != HW_ORIGIN_UNKNOWN) {
    info.origin = mark.info.origin;
  }
  if (mark.info.rank == info.rank || mark.info.rank == HW_RANK_UNKNOWN) return;
  info.rank = mark.info.rank;
}

// The first failure names the time and, where it is known, the rank. Whoever knows more adds it:
// the trainer knows the exception, the launcher the signal, the scheduler the preemption.
std::optional<Failure> first_failure(const Facts& facts) {
  const EndMark* first = nullptr;
  for (const EndMark& f : facts.failures) {
    if (first == nullptr || earlier(f, *first)) first = &f;
  }
  if (first == nullptr) {
    for (const EndMark& e : facts.exits) {
      if (bad(e) && (first == nullptr || earlier(e, *first))) first = &e;
    }
  }
  if (first == nullptr) return std::nullopt;
  Failure out{first->t_ns, behind_echo(*first, facts).info};
  const auto learn = [&](const EndMark& m) {
    const bool same_rank = m.info.rank == out.info.rank || m.info.rank == HW_RANK_UNKNOWN ||
                           out.info.rank == HW_RANK_UNKNOWN;
    if (out.info.rank == HW_RANK_UNKNOWN) out.info.rank = m.info.rank;
    if (!same_rank) return;  // its own story, of the same failure or of what followed from it
    if ((out.info.origin == HW_ORIGIN_NONE || out.info.origin == HW_ORIGIN_UNKNOWN) &&
        m.info.origin != HW_ORIGIN_NONE && m.info.origin != HW_ORIGIN_UNKNOWN) {
      out.info.origin = m.info.origin;
    }
    if (out.info.reason == 0) out.info.reason = m.info.reason;
    if (out.info.exit_code == 0 && out.info.signal == 0) {
      out.info.exit_code = m.info.exit_code;
      out.info.signal = m.info.signal;
    }
  };
  for (const EndMark& m : facts.failures) learn(m);
  for (const EndMark& m : facts.exits) {
    if (bad(m)) learn(m);
  }
  for (const EndMark& m : facts.failures) adopt_verdict(m, out.info);
  if (out.info.origin == HW_ORIGIN_NONE || out.info.origin == HW_ORIGIN_UNKNOWN) {
    out.info.origin = facts.preempt_notice_ns ? HW_ORIGIN_PREEMPTION : HW_ORIGIN_UNKNOWN;
  }
  return out;
}

}  // namespace

AttemptEnd judge_end(const Facts& facts, const AttemptOptions& options, std::int64_t last_ns,
                     std::int64_t last_step_ns) {
  AttemptEnd out;
  std::int64_t last_exit = kNoTime;
  for (const EndMark& e : facts.exits) last_exit = std::max(last_exit, e.t_ns);

  out.failure = first_failure(facts);
  // An orderly exit after a preemption notice is still an interruption, unless the job was done.
  if (!out.failure && facts.preempt_notice_ns && last_exit != kNoTime && !facts.job_end_ns) {
    out.failure = Failure{last_exit, {}};
    out.failure->info.origin = HW_ORIGIN_PREEMPTION;
    out.orderly = true;
  }
  if (out.failure) {
    out.outcome = Outcome::failed;
    out.failure->t_ns = std::max(out.failure->t_ns, last_step_ns);
    out.work_end_ns = out.failure->t_ns;
    out.end_ns = std::max(out.work_end_ns, last_exit);
    // The launcher is alive and has not started the next attempt yet, nor given up.
    if (options.last && options.now_ns && !facts.job_end_ns) {
      out.end_ns = std::max(out.end_ns, *options.now_ns);
    }
  } else if (facts.job_end_ns ||
             (last_exit != kNoTime && (last_exit >= last_ns || !options.last || !options.now_ns))) {
    out.outcome = Outcome::clean;
    out.work_end_ns = std::max(last_exit, facts.job_end_ns.value_or(kNoTime));
    out.work_end_ns = std::max(out.work_end_ns, last_step_ns);
    out.end_ns = out.work_end_ns;
  } else if (options.last) {
    out.outcome = Outcome::running;
    out.work_end_ns = std::max(last_ns, options.now_ns.value_or(last_ns));
    out.end_ns = out.work_end_ns;
  } else {
    out.outcome = Outcome::failed;
    out.inferred = true;
    out.failure = Failure{last_ns, {}};
    out.failure->info.origin = facts.preempt_notice_ns ? HW_ORIGIN_PREEMPTION : HW_ORIGIN_UNKNOWN;
    out.work_end_ns = last_ns;
    out.end_ns = last_ns;
  }
  if (facts.job_end_ns && out.outcome == Outcome::failed) {
    out.end_ns = std::max(out.end_ns, *facts.job_end_ns);
  }
  // A higher attempt's launch ends this one, whatever it says itself.
  out.end_ns = std::min(out.end_ns, options.cut_ns);
  out.work_end_ns = std::min(out.work_end_ns, out.end_ns);
  if (out.failure) out.failure->t_ns = std::min(out.failure->t_ns, out.work_end_ns);
  return out;
}

}  // namespace headway::timeline
