#include "interval/recorded.h"

#include <algorithm>
#include <set>
#include <string>

#include "headway/headway.h"

namespace headway::interval {
namespace {

using timeline::AttemptResult;

std::set<std::string> hosts_of(const AttemptResult& attempt) {
  std::set<std::string> out;
  for (const timeline::RankShare& rank : attempt.ranks) {
    if (!rank.host.empty()) out.insert(rank.host);
  }
  return out;
}

}  // namespace

Tier tier_of_failure(const timeline::JobResult& job, std::size_t index) {
  const AttemptResult& attempt = job.attempts[index];
  if (!attempt.failure || attempt.failure->info.origin == HW_ORIGIN_PREEMPTION) return Tier::node;
  if (index + 1 == job.attempts.size()) return Tier::process;
  const AttemptResult& next = job.attempts[index + 1];
  if (timeline::allocation_of(attempt.id) != timeline::allocation_of(next.id)) return Tier::node;
  const std::set<std::string> before = hosts_of(attempt);
  const std::set<std::string> after = hosts_of(next);
  if (after.empty()) return Tier::process;
  const auto gone = std::count_if(before.begin(), before.end(),
                                  [&](const std::string& host) { return !after.contains(host); });
  if (gone == 0) return Tier::process;
  const bool all = gone > 1 && static_cast<std::size_t>(gone) == before.size();
  return all ? Tier::zone : Tier::node;
}

bool was_cut_off(const timeline::JobResult& job, std::size_t index, bool over) {
  const AttemptResult& attempt = job.attempts[index];
  if (attempt.facts.preempt_notice_ns) return false;
  if (attempt.outcome == timeline::Outcome::running) return over;
  return attempt.outcome == timeline::Outcome::failed &&
         (!attempt.failure || attempt.failure->info.origin != HW_ORIGIN_PREEMPTION);
}

History history_of(const timeline::JobResult& job, std::int64_t before) {
  History out;
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const AttemptResult& attempt = job.attempts[i];
    if (attempt.id >= before || attempt.steps == 0 || !attempt.first_trained_ns) continue;
    const std::int64_t loop_ns = attempt.last_step_end_ns - *attempt.first_trained_ns;
    out.seconds += static_cast<double>(std::max<std::int64_t>(0, loop_ns)) / 1e9;
    if (was_cut_off(job, i, false)) out[tier_of_failure(job, i)] += 1;
  }
  return out;
}

}  // namespace headway::interval
