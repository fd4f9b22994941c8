// The report: what a job's timeline adds up to, in the words of the programme (L1, L2, L3, ETT%).
// Computed from a timeline::JobResult, whole or for a window. Pure data and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "event/stream.h"
#include "metrics/compile_cache.h"
#include "timeline/job.h"

namespace headway::metrics {

struct FailureRow {
  std::int64_t t_ns = 0;
  std::int64_t attempt = 0;
  std::optional<std::uint32_t> rank;
  std::string origin;
  std::string category;  // as `headway why` names it; empty: the launcher has not judged it
  std::string reason;    // what the trainer said, if anything
  std::string log;       // file of the rank's output; empty: none, or nobody has looked
  int exit_code = 0;
  int signal = 0;
  std::int64_t lost_ns = 0;     // all that Failure% holds because of it
  std::int64_t unsaved_ns = 0;  // finished-step time that was not saved
  std::optional<std::int64_t> time_to_recover_ns;
  std::optional<std::int64_t> time_to_new_data_ns;
};

struct AttemptRow {
  std::int64_t id = 0;
  std::int64_t begin_ns = 0;  // of its wall
  std::int64_t end_ns = 0;
  std::int64_t queued_before_ns = 0;  // since the attempt before
  std::string outcome;                // running, clean, failed
  timeline::Sums sums;                // of [begin_ns, end_ns), the down time before it included
  std::uint64_t steps = 0, replayed_steps = 0;
  std::int64_t first_step = 0, last_step = 0;
  std::optional<std::int64_t> restored_step;
  std::string restored_tier;
  std::uint32_t ranks = 0;
  // For drawing: equal slices of the attempt's time, the bucket with most of each.
  std::vector<timeline::Bucket> bar;
};

struct RankRow {
  std::uint32_t rank = 0;
  std::string host;
  timeline::Sums sums;
  std::uint64_t steps = 0, critical_steps = 0;
  std::int64_t held_up_ns = 0;
  bool straggler = false;
  std::string slow_in;  // of a straggler: "data_wait", …; "training": in the steps themselves
};

struct StageRow {  // who held up a start-up stage
  std::string stage;
  std::int64_t attempt = 0;
  std::uint32_t rank = 0;
  std::int64_t held_up_ns = 0;
};

struct Coverage {
  std::uint32_t ranks_reporting = 0, ranks_expected = 0;
  std::uint64_t dropped_records = 0, damaged_records = 0, uncommitted_records = 0;
  std::uint64_t clock_jumps = 0;
  std::int64_t gaps_ns = 0, overlap_ns = 0;
  std::uint64_t duplicates = 0, bad_lines = 0, names_dropped = 0;
  bool step_numbers_as_data = false;
  std::vector<std::string> missing_marks;
  timeline::Anomalies anomalies;
  std::vector<std::string> notes;  // one line each, for a person
};

struct Report {
  std::string job;
  bool running = false;
  std::string state;  // running, restarting, finished, failed, unended; empty: nobody has looked
  std::int64_t begin_ns = 0, end_ns = 0;  // of the wall or the window, real-time ns
  std::int64_t wall_ns = 0, queued_ns = 0, between_runs_ns = 0;
  double ett_pct = 0, idleness_pct = 0, failure_pct = 0;
  std::int64_t failure_ns = 0;
  timeline::Sums sums;

  std::optional<std::int64_t> time_to_start_ns;
  std::vector<std::int64_t> time_to_recover_ns, time_to_new_data_ns;
  std::uint64_t failures = 0, user_errors = 0, preemptions = 0;

  std::int64_t unsaved_ns = 0;
  std::uint64_t saves = 0, failed_saves = 0;
  std::map<std::string, std::uint64_t> restarts;  // by the tier that answered; "none": nothing did
  std::optional<double> save_interval_s;
  std::uint64_t steps = 0, replayed_steps = 0;
  std::optional<std::int64_t> last_step_end_ns;  // of the newest attempt
  timeline::StepTimes step_times;

  std::vector<FailureRow> failure_rows;
  std::vector<AttemptRow> attempts;
  std::vector<RankRow> ranks;
  std::vector<StageRow> critical_stages;
  std::map<std::string, std::string> attrs;
  std::map<std::string, std::int64_t> user_spans;
  std::optional<CompileCache> compile_cache;  // none: nothing was compiled, or nobody said so
  Coverage coverage;
};

struct Window {
  std::int64_t from_ns;
  std::int64_t to_ns;
};

// What a job's marks, failures and attempts come to. With a window, the buckets are the window's
// own; failures, recoveries and attempts are those that fall into it.
[[nodiscard]] Report make_report(const timeline::JobResult& job, const event::JobStreams& streams,
                                 const std::optional<Window>& window = std::nullopt);

// The JSON contract of `headway report --json` (docs/formats/report.md).
[[nodiscard]] std::string to_json(const Report& report);

// The rules' three numbers, from an account. They add up to 100 to the last bit of the integers
// they come from; a job without wall time has 0, 0 and 0.
struct Shares {
  double ett_pct, idleness_pct, failure_pct;
};
[[nodiscard]] Shares shares_of(const timeline::Account& account);

}  // namespace headway::metrics
