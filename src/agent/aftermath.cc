#include "agent/aftermath.h"

#include <fmt/format.h>

#include <random>

#include "base/clock.h"
#include "base/cut_text.h"
#include "failure/redact.h"
#include "headway/headway.h"

namespace headway::agent {
namespace {

// Where nothing tells of steps, an attempt that lasted this long has done something.
constexpr std::int64_t kFruitfulNs = 60'000'000'000;
constexpr std::size_t kProofBytesMax = 200;  // of a line on the terminal and in the journal

std::string describe(const failure::Verdict& verdict) {
  if (verdict.category == "unknown" || verdict.category == "none") return {};
  const std::string proof =
      base::cut_in_the_middle(failure::redact_line(verdict.proof), kProofBytesMax);
  return proof.empty() ? verdict.category : fmt::format("{}: {}", verdict.category, proof);
}

std::string decision_text(const RestartDecision& decision) {
  if (!decision.restart) {
    return decision.why_not.empty() ? "not restarted: there was no --max-restarts"
                                    : decision.why_not;
  }
  if (decision.delay_ns == 0) return "restarted at once";
  return fmt::format("restarted after {:.1f} s", static_cast<double>(decision.delay_ns) / 1e9);
}

}  // namespace

Aftermath::Aftermath(const RunOptions& options)
    : has_ranks_(options.has_ranks()),
      policy_(options.restarts, options.retry_all, std::random_device()()) {}

bool Aftermath::progressed(const RankProgress& progress, std::int64_t lasted_ns) {
  bool reports = false;
  for (const RankState& state : progress.ranks()) reports |= state.reports;
  if (!reports) return lasted_ns >= kFruitfulNs;
  const auto trained = progress.trained();
  if (!trained || (best_ && *trained <= *best_)) return false;
  best_ = trained;
  return true;
}

failure::Verdict Aftermath::appraise(const AttemptResult& result, AgentJournal& journal) {
  const Outcome& outcome = result.outcome;
  failure::Verdict verdict = diagnosis_.judge(result.remains);
  cause_ = describe(verdict);
  if (!cause_.empty() && has_ranks_) {
    const std::uint32_t rank = verdict.rank == failure::kNoRank
                                   ? static_cast<std::uint32_t>(*outcome.failed_rank)
                                   : static_cast<std::uint32_t>(verdict.rank);
    journal.verdict(rank, outcome.failed_end, origin_of(verdict), cause_);
    journal.attr("failure_category", verdict.category);
  }
  return verdict;
}

void Aftermath::keep(Remains&& remains, const failure::Verdict& verdict, std::string decision,
                     bool unless_there) {
  pending_ =
      Pending{std::move(remains),
              {verdict, std::move(decision), diagnosis_.kernel(), base::real_ns(), unless_there}};
}

RestartDecision Aftermath::consider(AttemptResult&& result, const RankProgress& progress,
                                    std::int64_t lasted_ns, AgentJournal& journal) {
  const failure::Verdict verdict = appraise(result, journal);
  const RestartDecision decision =
      policy_.on_failure(verdict, progressed(progress, lasted_ns), base::monotonic_ns());
  keep(std::move(result.remains), verdict, decision_text(decision));
  return decision;
}

void Aftermath::when_idle() {
  if (pending_) {
    const base::Status ignored = write_failure_file(pending_->remains, pending_->record);
    (void)ignored;  // the journal has the verdict; a full disk must not stop a job
    pending_.reset();
  }
  diagnosis_.prepare();
}

}  // namespace headway::agent
