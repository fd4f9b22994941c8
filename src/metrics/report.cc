#include "metrics/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/check.h"
#include "base/saturate.h"
#include "base/wide.h"
#include "metrics/restored.h"

namespace headway::metrics {
namespace {

using timeline::Account;
using timeline::AttemptResult;
using timeline::Bucket;
using timeline::JobResult;
using timeline::Outcome;

constexpr std::size_t kBarSlices = 64;
// A rank is called a straggler when it holds up its share of steps twice over, and by enough to
// matter: this part of the time in the loop.
constexpr double kStragglerTimeShare = 0.02;

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::running:
      return "running";
    case Outcome::clean:
      return "clean";
    case Outcome::failed:
      return "failed";
  }
  return "";
}

// The first later attempt that got somewhere, and when.
template <typename When>
std::optional<std::int64_t> next_instant(const JobResult& job, std::size_t after, When when) {
  for (std::size_t k = after + 1; k < job.attempts.size(); ++k) {
    if (const std::optional<std::int64_t> t = when(job.attempts[k])) return t;
  }
  return std::nullopt;
}

std::vector<FailureRow> failure_rows(const JobResult& job, const event::NameTable& names) {
  std::vector<FailureRow> rows;
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const AttemptResult& a = job.attempts[i];
    if (!a.failure) continue;
    FailureRow row;
    row.t_ns = a.failure->t_ns;
    row.attempt = a.id;
    if (a.failure->info.rank != HW_RANK_UNKNOWN) row.rank = a.failure->info.rank;
    row.origin = event::origin_name(a.failure->info.origin);
    if (a.failure->info.reason != 0) row.reason = names.text(a.failure->info.reason);
    for (const auto& [key, value] : a.facts.attrs) {
      if (names.text(key) == "failure_category") row.category = names.text(value);
    }
    row.exit_code = a.failure->info.exit_code;
    row.signal = a.failure->info.signal;
    row.unsaved_ns = job.unsaved_by_attempt_ns[i];
    row.lost_ns = a.failure_post_ns;
    if (i + 1 < job.attempts.size()) {
      row.lost_ns += job.down_before_ns[i + 1] + job.attempts[i + 1].failure_pre_ns;
    }
    const auto since = [&](std::optional<std::int64_t> t) {
      return t ? std::optional(std::max<std::int64_t>(0, *t - row.t_ns)) : std::nullopt;
    };
    row.time_to_recover_ns =
        since(next_instant(job, i, [](const AttemptResult& n) { return n.first_trained_ns; }));
    row.time_to_new_data_ns =
        since(next_instant(job, i, [](const AttemptResult& n) { return n.first_effective_ns; }));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Bucket> draw(const timeline::Ledger& ledger, std::int64_t t0, std::int64_t t1) {
  std::vector<Bucket> bar;
  if (t1 <= t0) return bar;
  for (std::size_t i = 0; i < kBarSlices; ++i) {
    const auto at = [&](std::size_t k) {
      return t0 + static_cast<std::int64_t>(base::Int128(t1 - t0) * base::Int128(k) /
                                            base::Int128(kBarSlices));
    };
    const timeline::Sums sums = ledger.window(at(i), at(i + 1)).sums;
    const auto most = std::max_element(sums.ns.begin(), sums.ns.end());
    if (*most == 0) continue;
    bar.push_back(static_cast<Bucket>(most - sums.ns.begin()));
  }
  return bar;
}

AttemptRow attempt_row(const JobResult& job, std::size_t i, const event::NameTable& names) {
  const AttemptResult& a = job.attempts[i];
  AttemptRow row;
  row.id = a.id;
  row.begin_ns = a.launch_ns - job.down_before_ns[i];
  if (i == 0) row.begin_ns = std::min(a.launch_ns, job.ledger.begin_ns());
  if (i > 0) row.queued_before_ns = job.outside_ns(true, job.attempts[i - 1].end_ns, row.begin_ns);
  row.end_ns = a.end_ns;
  row.outcome = outcome_name(a.outcome);
  row.sums = job.ledger.window(row.begin_ns, row.end_ns).sums;
  row.steps = a.steps;
  row.replayed_steps = a.replayed_steps;
  row.first_step = a.first_step;
  row.last_step = a.last_step;
  if (!a.facts.restores.empty()) {
    row.restored_step = a.facts.restores.front().step;
    row.restored_tier = restored_tier(a, names);
  }
  row.ranks = a.ranks_reporting;
  row.bar = draw(job.ledger, row.begin_ns, row.end_ns);
  return row;
}

// What a straggler does longer than the middle one of its peers. Where nothing explains a good part
// of the delay, it is the training itself.
std::string slow_stage(const RankRow& slow, const std::map<std::uint32_t, RankRow>& ranks) {
  constexpr double kExplains = 0.25;
  constexpr Bucket kStages[] = {Bucket::wasted_data_wait, Bucket::wasted_recompile,
                                Bucket::wasted_eval, Bucket::wasted_checkpoint_blocked,
                                Bucket::wasted_other};
  std::string name = "training";
  auto most_ns = static_cast<std::int64_t>(kExplains * static_cast<double>(slow.held_up_ns));
  for (const Bucket stage : kStages) {
    std::vector<std::int64_t> peers;
    for (const auto& [rank, row] : ranks) {
      if (rank != slow.rank) peers.push_back(row.sums[stage]);
    }
    const auto middle = peers.begin() + static_cast<std::ptrdiff_t>(peers.size() / 2);
    std::nth_element(peers.begin(), middle, peers.end());
    const std::int64_t longer_ns = slow.sums[stage] - *middle;
    if (longer_ns < most_ns) continue;
    most_ns = longer_ns;
    name = timeline::bucket_name(stage);
  }
  return name;
}

std::vector<RankRow> rank_rows(const JobResult& job) {
  std::map<std::uint32_t, RankRow> by_rank;
  std::uint64_t steps = 0;
  for (const AttemptResult& a : job.attempts) {
    steps += a.steps;
    for (const timeline::RankShare& share : a.ranks) {
      RankRow& row = by_rank[share.rank];
      row.rank = share.rank;
      if (!share.host.empty()) row.host = share.host;
      row.sums += share.sums;
      row.steps += share.steps;
      row.critical_steps += share.critical_steps;
      row.held_up_ns = base::add_saturated(row.held_up_ns, share.held_up_ns);
    }
  }
  std::vector<RankRow> rows;
  for (auto& [rank, row] : by_rank) {
    if (by_rank.size() > 1 && steps > 0) {
      const double fair = static_cast<double>(steps) / static_cast<double>(by_rank.size());
      const double loop_ns = static_cast<double>(row.sums[Bucket::effective] +
                                                 row.sums.group(timeline::Group::wasted));
      row.straggler = static_cast<double>(row.critical_steps) >=
                          std::min(2.0 * fair, 0.9 * static_cast<double>(steps)) &&
                      static_cast<double>(row.held_up_ns) > kStragglerTimeShare * loop_ns;
    }
    if (row.straggler) row.slow_in = slow_stage(row, by_rank);
    rows.push_back(row);
  }
  return rows;
}

// Where an attempt that counts from its first step loaded something: was it a checkpoint?
void note_unplaced_loads(Coverage& c, const JobResult& job, const event::NameTable& names) {
  bool trained_before = false;
  for (const AttemptResult& a : job.attempts) {
    for (const auto& [key, value] : a.facts.attrs) {
      if (names.text(key) != "loaded_without_position") continue;
      if (!trained_before || !a.facts.restores.empty() || a.replayed_steps == 0) continue;
      c.notes.push_back(fmt::format(
          "Attempt {} loaded {} and nothing tells the position it was saved at: if it is a "
          "checkpoint, the {} steps that count as replayed may be new ones.",
          a.id, names.text(value), a.replayed_steps));
    }
    trained_before |= a.steps > 0;
  }
}

// Batches that no data loader handed out: waiting for them looks like training.
void note_unseen_data(Coverage& c, const JobResult& job) {
  const timeline::Account total = job.ledger.total();
  const bool seen = total.sums[Bucket::init_first_batch] + total.sums[Bucket::wasted_data_wait] > 0;
  // Only of what our own hook watched: other sources need not tell.
  if (total.steps == 0 || seen || !job.attrs.contains("headway")) return;
  c.notes.emplace_back(
      "No wait for data was seen: if the script gets its batches without a DataLoader, the time "
      "for "
      "it is inside effective. Wrap its iterator in hw.steps() to see it.");
}

void cover(Report& r, const JobResult& job, const event::JobStreams& streams) {
  Coverage& c = r.coverage;
  c.overlap_ns = job.overlap_ns;
  c.gaps_ns = job.gap_ns;
  c.duplicates = streams.duplicates_dropped;
  c.bad_lines = streams.bad_lines;
  c.names_dropped = streams.names ? streams.names->overflowed() : 0;
  c.step_numbers_as_data = job.used_step_numbers;
  c.missing_marks = job.missing_marks;
  c.notes = streams.notes;
  for (const AttemptResult& a : job.attempts) {
    c.ranks_reporting = std::max(c.ranks_reporting, a.ranks_reporting);
    c.ranks_expected = std::max(c.ranks_expected, a.ranks_expected);
    c.anomalies += a.facts.anomalies;
    for (const timeline::StreamReport& s : a.streams) {
      c.dropped_records += s.loss.dropped_records;
      c.damaged_records += s.loss.damaged_records;
      c.uncommitted_records += s.loss.uncommitted_records;
      c.clock_jumps += s.loss.clock_jumps;
      if (!s.loss.note.empty()) c.notes.push_back(s.loss.note);
    }
  }
  if (streams.names) note_unplaced_loads(c, job, *streams.names);
  note_unseen_data(c, job);
}

void count_failures(Report& r) {
  for (const FailureRow& row : r.failure_rows) {
    if (row.origin == "user") {
      ++r.user_errors;
    } else if (row.origin == "preemption") {
      ++r.preemptions;
    } else {
      ++r.failures;
    }
    if (row.time_to_recover_ns) r.time_to_recover_ns.push_back(*row.time_to_recover_ns);
    if (row.time_to_new_data_ns) r.time_to_new_data_ns.push_back(*row.time_to_new_data_ns);
  }
}

void measure_start(Report& r, const JobResult& job) {
  if (job.attempts.empty()) return;
  const std::int64_t from = job.allocated_ns.value_or(job.ledger.begin_ns());
  for (const AttemptResult& a : job.attempts) {
    if (!a.first_trained_ns) continue;
    r.time_to_start_ns = std::max<std::int64_t>(0, *a.first_trained_ns - from);
    return;
  }
}

void count_saves(Report& r, const JobResult& job) {
  std::int64_t spanned_ns = 0;
  std::uint64_t intervals = 0;
  for (const AttemptResult& a : job.attempts) {
    r.saves += a.facts.saves;
    r.failed_saves += a.facts.failed_saves.size();
    if (a.facts.saves > 1) {
      spanned_ns += std::max<std::int64_t>(0, a.facts.last_save->t_ns - a.facts.first_save->t_ns);
      intervals += a.facts.saves - 1;
    }
  }
  if (intervals > 0) {
    r.save_interval_s = static_cast<double>(spanned_ns) / 1e9 / static_cast<double>(intervals);
  }
}

// Which state the attempts after the first one began from, as far as they got to begin.
void count_restarts(Report& r) {
  for (std::size_t i = 1; i < r.attempts.size(); ++i) {
    const AttemptRow& row = r.attempts[i];
    if (!row.restored_step && row.steps == 0) continue;
    const std::string tier = row.restored_tier.empty() ? "unnamed" : row.restored_tier;
    ++r.restarts[row.restored_step ? tier : "none"];
  }
}

void restrict_to(Report& r, const Window& window, const JobResult& job) {
  const auto inside = [&](std::int64_t t) { return t >= window.from_ns && t < window.to_ns; };
  std::erase_if(r.failure_rows, [&](const FailureRow& row) { return !inside(row.t_ns); });
  std::erase_if(r.attempts, [&](const AttemptRow& row) {
    return row.end_ns <= window.from_ns || row.begin_ns >= window.to_ns;
  });
  for (AttemptRow& row : r.attempts) {
    row.begin_ns = std::max(row.begin_ns, window.from_ns);
    row.end_ns = std::min(row.end_ns, window.to_ns);
    row.sums = job.ledger.window(row.begin_ns, row.end_ns).sums;
    row.bar = draw(job.ledger, row.begin_ns, row.end_ns);
  }
  r.step_times = {};  // kept for the whole only
  r.unsaved_ns = 0;
  for (const FailureRow& row : r.failure_rows) r.unsaved_ns += row.unsaved_ns;
  r.queued_ns = job.outside_ns(true, window.from_ns, window.to_ns);
  r.between_runs_ns = job.outside_ns(false, window.from_ns, window.to_ns);
  const bool started = !job.attempts.empty() && inside(job.attempts.front().launch_ns);
  if (!started) r.time_to_start_ns.reset();
}

}  // namespace

Shares shares_of(const Account& account) {
  const std::int64_t wall = account.sums.total();
  if (wall <= 0) return {0, 0, 0};
  const auto pct = [&](std::int64_t ns) {
    return 100.0 * static_cast<double>(ns) / static_cast<double>(wall);
  };
  const double failure = pct(account.failure_ns);
  const double idleness = pct(wall - account.sums[Bucket::effective] - account.failure_ns);
  return {100.0 - idleness - failure, idleness, failure};
}

Report make_report(const JobResult& job, const event::JobStreams& streams,
                   const std::optional<Window>& window) {
  static const event::NameTable no_names;
  const event::NameTable& names = streams.names ? *streams.names : no_names;
  Report r;
  r.job = job.job;
  r.running = job.running;
  r.begin_ns = window ? window->from_ns : job.ledger.begin_ns();
  r.end_ns = window ? window->to_ns : job.ledger.end_ns();
  const Account account =
      window ? job.ledger.window(window->from_ns, window->to_ns) : job.ledger.total();
  r.sums = account.sums;
  r.wall_ns = account.sums.total();
  r.failure_ns = account.failure_ns;
  r.steps = static_cast<std::uint64_t>(account.steps);
  r.queued_ns = job.outside_ns(true);
  r.between_runs_ns = job.outside_ns(false);
  const Shares shares = shares_of(account);
  r.ett_pct = shares.ett_pct;
  r.idleness_pct = shares.idleness_pct;
  r.failure_pct = shares.failure_pct;

  r.unsaved_ns = job.unsaved_ns;
  measure_start(r, job);
  count_saves(r, job);
  r.failure_rows = failure_rows(job, names);
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const AttemptResult& a = job.attempts[i];
    r.attempts.push_back(attempt_row(job, i, names));
    r.replayed_steps += a.replayed_steps;
    r.step_times += a.step_times;
    for (const timeline::CriticalStage& s : a.critical_stages) {
      r.critical_stages.push_back(
          {std::string(event::phase_name(s.phase)), a.id, s.rank, s.held_up_ns});
    }
  }
  count_restarts(r);
  if (!job.attempts.empty() && job.attempts.back().steps > 0) {
    r.last_step_end_ns = job.attempts.back().last_step_end_ns;
  }
  r.ranks = rank_rows(job);
  r.attrs = job.attrs;
  r.compile_cache = compile_cache_of(job, names);
  r.user_spans = job.user_spans;
  cover(r, job, streams);
  if (window) restrict_to(r, *window, job);
  count_failures(r);
  return r;
}

}  // namespace headway::metrics
