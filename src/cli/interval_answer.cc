#include "cli/interval_answer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "interval/daly.h"

namespace headway::cli {
namespace {

using interval::Plan;

constexpr double kFactors[] = {0.1, 0.2, 0.5, 1, 2, 5, 10};
constexpr double kWrong[] = {2, 3, 10};
constexpr double kSameShare = 0.01;  // intervals nearer than this are one row

IntervalRow row_at(double persist_s, const IntervalAnswer& a) {
  const IntervalQuestion& q = a.question;
  IntervalRow row;
  row.plan = plan_at(a.plan, persist_s);
  row.factor = persist_s / a.plan.persist_s;
  row.waste = interval::waste_at(row.plan, q.cost, q.failures);
  row.possible = persist_s >= q.cost.floor_s() * (1 - 1e-9);
  if (q.job) row.replayed = interval::replay(q.job->attempts, row.plan, q.cost, q.replica);
  return row;
}

void add_used(IntervalAnswer& a) {
  if (!a.question.job || !a.question.job->used_interval_s) return;
  const double used_s = *a.question.job->used_interval_s;
  if (used_s <= 0) return;
  for (IntervalRow& row : a.rows) {
    if (std::abs(row.plan.persist_s / used_s - 1) < kSameShare) {
      row.used = true;
      return;
    }
  }
  IntervalRow row = row_at(used_s, a);
  row.used = true;
  a.rows.push_back(row);
  std::sort(a.rows.begin(), a.rows.end(), [](const IntervalRow& x, const IntervalRow& y) {
    return x.plan.persist_s < y.plan.persist_s;
  });
}

}  // namespace

Plan plan_at(const Plan& best, double persist_s) {
  return {best.stage_s < best.persist_s ? std::min(best.stage_s, persist_s) : persist_s, persist_s};
}

IntervalAnswer answer(IntervalQuestion question) {
  IntervalAnswer a;
  a.question = std::move(question);
  const IntervalQuestion& q = a.question;
  a.plan = interval::best_plan(q.cost, q.failures, q.bounds);
  a.waste = interval::waste_at(a.plan, q.cost, q.failures);
  if (q.job) a.replayed = interval::replay(q.job->attempts, a.plan, q.cost, q.replica);
  for (const double factor : kFactors) a.rows.push_back(row_at(factor * a.plan.persist_s, a));
  add_used(a);
  for (const double factor : kWrong) {
    a.wrong.push_back(
        {factor, std::max(interval::cost_of_wrong_rate(factor, q.cost, q.failures, q.bounds),
                          interval::cost_of_wrong_rate(1 / factor, q.cost, q.failures, q.bounds))});
  }
  if (!q.replica) {
    const interval::Exponential job{q.cost.effective_s(), 1 / q.failures.per_s(),
                                    q.cost.persist_lag_s};
    const double interval_s = interval::daly_interval_s(job);
    a.exact = ExactModel{interval_s, interval::exact_waste(interval_s, job)};
  }
  return a;
}

IntervalAnswer unanswered(IntervalQuestion question) {
  IntervalAnswer a;
  a.question = std::move(question);
  return a;
}

}  // namespace headway::cli
