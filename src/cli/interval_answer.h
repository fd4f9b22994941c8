// How often to save, worked out: the best interval, what others cost, and how wrong one may be.
// Pure numbers in, pure numbers out; the pages are made from it (interval_views.h). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/interval_job.h"
#include "interval/cost.h"
#include "interval/rate.h"
#include "interval/replay.h"

namespace headway::cli {

struct IntervalQuestion {
  interval::SaveCost cost;
  interval::Failures failures;
  interval::Bounds bounds;
  bool replica = false;    // failures of a process are answered from memory
  double loop_s = 86'400;  // to which shares are applied
  bool cost_assumed = false;
  std::optional<interval::RateEstimate> rate;  // nullopt: the rate was stated
  std::optional<IntervalJob> job;              // nullopt: no record, only what was stated
  std::string too_short;  // why the record cannot say; empty: it can, or nobody asks it
};

struct IntervalRow {
  double factor = 1;  // of the best interval
  interval::Plan plan;
  interval::Waste waste;  // by the formula
  bool possible = true;   // saves get done before the next ones are due
  bool used = false;      // what the job did
  std::optional<interval::Replayed> replayed;
};

struct WrongRate {
  double factor = 1;
  double cost = 1;  // the worse of too high and too low
};

struct ExactModel {
  double interval_s = 0;  // Daly's higher order
  double waste = 0;       // of that
};

struct IntervalAnswer {
  IntervalQuestion question;
  interval::Plan plan;
  interval::Waste waste;
  std::optional<interval::Replayed> replayed;  // of the plan
  std::vector<IntervalRow> rows;               // by interval; one of them has factor 1
  std::vector<WrongRate> wrong;
  std::optional<ExactModel> exact;  // where one interval serves all
};

// The plan with its intervals on to storage `persist_s` long.
[[nodiscard]] interval::Plan plan_at(const interval::Plan& best, double persist_s);

[[nodiscard]] IntervalAnswer answer(IntervalQuestion question);
// Of a record that is too short: the question with what was seen, and no number.
[[nodiscard]] IntervalAnswer unanswered(IntervalQuestion question);

}  // namespace headway::cli
