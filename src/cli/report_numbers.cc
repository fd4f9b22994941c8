// The L1 numbers, steps and checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/human.h"
#include "cli/report_sections.h"

namespace headway::cli {
namespace {

using metrics::Report;
using timeline::Bucket;

constexpr int kLabelColumns = 21;
constexpr std::int64_t kQuantileSteps = 200;  // fewer have no 99th percentile worth the name
constexpr std::size_t kListedMax = 3;         // times that are told one by one

Line labelled(std::string_view label) {
  Line line;
  line.add("  ").add(label).to(kLabelColumns);
  return line;
}

// "41.20 s, 55.00 s", or "median 41.20 s, worst 2m 03s" when there are many.
std::string times_text(std::vector<std::int64_t> times, const Style& style) {
  std::string out;
  if (times.size() <= kListedMax) {
    for (const std::int64_t ns : times) {
      out += (out.empty() ? "" : ", ") + human_duration(ns, style);
    }
    return out;
  }
  std::sort(times.begin(), times.end());
  return fmt::format("median {}, worst {}", human_duration(times[times.size() / 2], style),
                     human_duration(times.back(), style));
}

// Otherwise nobody knows whether it trained.
bool ranks_reported(const Report& r) {
  return r.coverage.ranks_reporting > 0;
}

// Part of a first step may be trained before its last compilation, which ends the recovery: where
// that step is new data, the first of it comes before the recovery is over, and no time is told.
void add_new_data(Line& line, const Report& r, const Style& style) {
  std::vector<std::int64_t> after_repetition;
  std::size_t at_once = 0;
  for (const metrics::FailureRow& row : r.failure_rows) {
    if (!row.time_to_recover_ns || !row.time_to_new_data_ns) continue;
    if (*row.time_to_new_data_ns <= *row.time_to_recover_ns) {
      ++at_once;
    } else {
      after_repetition.push_back(*row.time_to_new_data_ns);
    }
  }
  if (!after_repetition.empty()) {
    line.add(fmt::format("; new data after {}{}", times_text(after_repetition, style),
                         at_once > 0 ? " where steps were repeated" : ""));
  } else if (at_once > 0) {
    line.add("; new data from the first step on");
  }
}

void add_recovery(Page& page, const Report& r, bool over) {
  if (r.failure_rows.empty() || !ranks_reported(r)) return;
  const Style& style = page.style();
  Line line = labelled("Time to recover");
  const auto is_open = [](const metrics::FailureRow& f) { return !f.time_to_recover_ns; };
  const auto open = std::count_if(r.failure_rows.begin(), r.failure_rows.end(), is_open);
  if (r.time_to_recover_ns.empty()) {
    line.add(over ? "never trained again" : "has not trained again since", Ink::down);
  } else {
    line.add(times_text(r.time_to_recover_ns, style), Ink::strong);
    add_new_data(line, r, style);
    if (open > 0) line.add(fmt::format("; {} not recovered", open), Ink::down);
    if (r.between_runs_ns >= between_runs_shown_min_ns) {
      line.add(fmt::format("; with {} between runs", human_duration(r.between_runs_ns, style)));
    }
  }
  page.add_broken(line, kLabelColumns);
}

void add_counts(Page& page, const Report& r) {
  Line line = labelled("Failures");
  line.add(human_count(r.failures), r.failures > 0 ? Ink::down : Ink::strong);
  if (r.user_errors > 0) line.add(" + " + plural(r.user_errors, "user error"));
  if (r.preemptions > 0) line.add(" + " + plural(r.preemptions, "preemption"));
  page.add_broken(line, kLabelColumns);
  if (r.unsaved_ns > 0) {
    page.add_broken(labelled("Unsaved training")
                        .add(human_duration(r.unsaved_ns, page.style()), Ink::strong)
                        .add(" of finished steps lost with what was not saved"),
                    kLabelColumns);
  }
}

// How long a job that trains has not finished a step, where that is far longer than a step takes.
std::optional<std::int64_t> stalled_ns(const Report& r, const TextOptions& options) {
  constexpr std::int64_t kStallMinNs = 10'000'000'000;
  constexpr std::int64_t kStallSteps = 10;
  if (options.state != JobState::running || options.windowed || !r.last_step_end_ns) return {};
  const std::int64_t since_ns = r.end_ns - *r.last_step_end_ns;
  const std::int64_t usual_ns = r.step_times.quantile_ns(0.99);
  if (since_ns < kStallMinNs || since_ns / kStallSteps < usual_ns) return {};
  return since_ns;
}

void add_steps(Page& page, const Report& r, const TextOptions& options) {
  const bool windowed = options.windowed;
  const Style& style = page.style();
  Line line = labelled("Steps");
  line.add(human_count(r.steps), Ink::strong);
  if (!windowed && r.steps > 0) {
    if (r.replayed_steps > 0) line.add(fmt::format(", {} replayed", human_count(r.replayed_steps)));
    const auto count = static_cast<std::int64_t>(r.step_times.count);
    if (count > 0) {
      line.add(fmt::format("; mean {}", human_duration(r.step_times.sum_ns / count, style)));
      if (count >= kQuantileSteps) {
        line.add(
            fmt::format(", 99% under {}", human_duration(r.step_times.quantile_ns(0.99), style)));
      }
      line.add(fmt::format(", slowest {}", human_duration(r.step_times.max_ns, style)));
    }
  }
  if (const auto ns = stalled_ns(r, options)) {
    line.add("; ").add(fmt::format("none for {}", human_duration(*ns, style)), Ink::down);
  }
  page.add_broken(line, kLabelColumns);
}

// What was not in a cache had to be compiled; what torch never keeps is told apart.
void add_compile_cache(Page& page, const Report& r) {
  if (!r.compile_cache) return;
  const metrics::CompileCache& found = *r.compile_cache;
  const Style& style = page.style();
  const std::uint64_t looked_for = found.hits + found.misses;
  Line line = labelled("Compile cache");
  if (looked_for > 0) {
    line.add(fmt::format("{} of {}", human_count(found.hits), plural(looked_for, "graph")),
             Ink::strong);
    line.add(found.ranks > 1 ? fmt::format(" found by {} ranks", human_count(found.ranks))
                             : " found");
    if (found.worst_rank) {
      line.add(
          fmt::format(" (rank {} missed {})", *found.worst_rank, human_count(found.worst_misses)),
          Ink::down);
    }
  } else {
    line.add("no graph was looked for");
  }
  if (found.bypasses > 0) line.add(fmt::format(", {} cannot be kept", human_count(found.bypasses)));
  if (found.builds > 0) line.add(fmt::format(", g++ ran {} times", human_count(found.builds)));
  if (found.saved_ns() > 0) {
    line.add("; ").add(fmt::format("{} saved", human_duration(found.saved_ns(), style)),
                       Ink::effective);
    if (found.ranks > 1) line.add(" on the slowest rank");
  }
  if (found.pulled_files > 0) {
    line.add(fmt::format("; {} unpacked in {}", plural(found.pulled_files, "file"),
                         human_duration(found.pull_ns, style)));
  }
  page.add_broken(line, kLabelColumns);
}

// Saves are counted for the whole job only.
void add_checkpoints(Page& page, const Report& r, bool windowed) {
  const Style& style = page.style();
  const std::int64_t blocked =
      r.sums[Bucket::wasted_checkpoint_blocked] + r.sums[Bucket::shutdown_final_save];
  const bool any = r.saves > 0 || r.failed_saves > 0;
  if (blocked == 0 && (windowed || !any)) return;
  Line line = labelled("Checkpoints");
  if (!windowed) {
    line.add(plural(r.saves, "save"), Ink::strong);
    if (r.save_interval_s) {
      line.add(fmt::format(", one every {} on average",
                           human_duration(std::llround(*r.save_interval_s * 1e9), style)));
    }
    if (r.failed_saves > 0) {
      line.add(", ").add(fmt::format("{} did not get to the disk", human_count(r.failed_saves)),
                         Ink::down);
    }
    line.add("; ");
  }
  line.add(blocked > 0 ? fmt::format("training stood still for {}", human_duration(blocked, style))
                       : "training did not wait");
  page.add_broken(line, kLabelColumns);
}

// "2 from replica, 1 from disk": what the attempts after the first began from.
void add_restarts(Page& page, const Report& r) {
  if (r.restarts.empty()) return;
  Line line = labelled("Restarts");
  const char* between = "";
  for (const auto& [tier, count] : r.restarts) {
    line.add(between).add(human_count(count), Ink::strong);
    line.add(tier == "none"      ? std::string(" from the beginning")
             : tier == "unnamed" ? std::string(" from a checkpoint")
                                 : " from " + clean(tier, page.style()));
    between = ", ";
  }
  page.add_broken(line, kLabelColumns);
}

void add_stragglers(Page& page, const Report& r) {
  std::vector<const metrics::RankRow*> slow;
  for (const metrics::RankRow& row : r.ranks) {
    if (row.straggler) slow.push_back(&row);
  }
  if (slow.empty()) return;
  std::stable_sort(slow.begin(), slow.end(),
                   [](const auto* a, const auto* b) { return a->held_up_ns > b->held_up_ns; });
  const Style& style = page.style();
  for (std::size_t i = 0; i < slow.size() && i < names_shown_max; ++i) {
    const metrics::RankRow& row = *slow[i];
    const std::string host = row.host.empty() ? "" : fmt::format(" on {}", clean(row.host, style));
    page.add_broken(
        labelled(i == 0 ? "Stragglers" : "")
            .add(fmt::format("rank {}{}", row.rank, host), Ink::down)
            .add(fmt::format(" was last in {} of its {} steps and held the rest up for {}{}",
                             human_count(row.critical_steps), human_count(row.steps),
                             human_duration(row.held_up_ns, style),
                             row.slow_in.empty() ? "" : ", in " + row.slow_in)),
        kLabelColumns);
  }
  if (slow.size() > names_shown_max) {
    page.add(labelled("").add(fmt::format("and {} more", slow.size() - names_shown_max)));
  }
}

void add_user_spans(Page& page, const Report& r) {
  std::vector<std::pair<std::string, std::int64_t>> spans(r.user_spans.begin(), r.user_spans.end());
  if (spans.empty()) return;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const Style& style = page.style();
  Line line = labelled("Your own spans");
  for (std::size_t i = 0; i < spans.size() && i < names_shown_max; ++i) {
    line.add(fmt::format("{}{} {}", i == 0 ? "" : ", ", clean(spans[i].first, style),
                         human_duration(spans[i].second, style)));
  }
  if (spans.size() > names_shown_max) {
    line.add(fmt::format(" and {} more", spans.size() - names_shown_max));
  }
  page.add_broken(line, kLabelColumns);
}

}  // namespace

bool add_key_numbers(Page& page, const Report& r, const TextOptions& options) {
  const bool over = is_over(options.state);
  if (r.time_to_start_ns) {
    const auto& missing = r.coverage.missing_marks;
    const bool allocated = std::find(missing.begin(), missing.end(), "allocated") == missing.end();
    page.add(
        labelled("Time to start")
            .add(human_duration(*r.time_to_start_ns, page.style()), Ink::strong)
            .add(allocated ? " from allocation to training" : " from the first event to training"));
  } else if (!options.windowed && ranks_reported(r)) {
    page.add(labelled("Time to start")
                 .add(over ? "no step was finished" : "no step has been finished yet", Ink::down));
  }
  add_recovery(page, r, over);
  add_counts(page, r);
  add_steps(page, r, options);
  if (!options.windowed) add_compile_cache(page, r);
  add_checkpoints(page, r, options.windowed);
  if (!options.windowed) {
    add_restarts(page, r);
    add_stragglers(page, r);
    add_user_spans(page, r);
  }
  return true;
}

}  // namespace headway::cli
