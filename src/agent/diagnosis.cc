#include "agent/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "agent/own_verdict.h"
#include "base/check.h"
#include "base/file.h"
#include "base/job_path.h"
#include "headway/headway.h"
#include "interchange/torchrun_error.h"

namespace headway::agent {
namespace {

using failure::Evidence;

// Who failed first comes first: between the outputs of ranks there is no other order.
std::vector<const Remains::Rank*> in_order_of_end(const Remains& remains) {
  std::vector<const Remains::Rank*> order;
  for (const Remains::Rank& rank : remains.ranks) order.push_back(&rank);
  const auto place = [&](const Remains::Rank* rank) {
    const auto it = std::find_if(remains.ends.begin(), remains.ends.end(),
                                 [&](const EndedRank& e) { return e.rank == rank->rank; });
    return it - remains.ends.begin();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return place(a) < place(b); });
  return order;
}

Evidence gather(const Remains& remains) {
  Evidence evidence;
  for (const EndedRank& ended : remains.ends) {
    if (ended_by_us(ended)) continue;
    evidence.exits.push_back({ended.rank, ended.end.exit_code, ended.end.signal});
  }
  for (const Remains::Rank* rank : in_order_of_end(remains)) {
    for (std::string& line : rank->tail.lines().lines) {
      evidence.lines.push_back({rank->rank, std::move(line)});
    }
    if (!remains.dir.empty()) add_error_file(remains.dir, rank->rank, evidence);
  }
  return evidence;
}

}  // namespace

// Whom we ended ourselves, after the first had failed, has nothing to say by its end.
bool ended_by_us(const EndedRank& ended) {
  return ended.in_tear_down && (ended.end.signal == SIGTERM || ended.end.signal == SIGKILL);
}

void add_error_file(const std::string& attempt_dir, int rank, Evidence& evidence) {
  const auto text =
      base::read_file(base::error_file_path(attempt_dir, static_cast<std::uint32_t>(rank)),
                      interchange::kErrorFileBytesMax);
  if (!text.ok()) return;
  const auto error = interchange::parse_torchrun_error(text.value());
  if (!error.ok()) return;
  const double time_s = static_cast<double>(error.value().t_ns.value_or(0)) / 1e9;
  evidence.error_files.push_back({rank, time_s, error.value().reason});
}

void Diagnosis::prepare() {
  if (classifier_) return;
  auto rules = failure::parse_rules(failure::builtin_rules_text(), "rules.toml");
  HW_CHECK(rules.ok());  // they are part of this program
  classifier_ = std::make_unique<failure::Classifier>(std::move(*rules));
}

failure::Verdict Diagnosis::judge(const Remains& remains) {
  kernel_.clear();
  if (remains.hang) return hang_verdict(*remains.hang);
  prepare();
  Evidence evidence = gather(remains);
  std::vector<pid_t> pids;
  for (const Remains::Rank& rank : remains.ranks) pids.push_back(rank.pid);
  kernel_ = machine_.collect(*classifier_, std::move(pids));
  evidence.kernel = kernel_;
  return classifier_->classify(evidence);
}

int origin_of(const failure::Verdict& verdict) {
  if (verdict.origin == "infra") return HW_ORIGIN_INFRA;
  if (verdict.origin == "user") return HW_ORIGIN_USER;
  if (verdict.origin == "preemption") return HW_ORIGIN_PREEMPTION;
  return HW_ORIGIN_UNKNOWN;
}

}  // namespace headway::agent
