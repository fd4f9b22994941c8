#include "interval/tuner.h"

#include <algorithm>

namespace headway::interval {
namespace {

double seconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(std::max<std::int64_t>(0, to_ns - from_ns)) / 1e9;
}

}  // namespace

Tuner::Tuner(const TunerSettings& settings, std::int64_t now_ns)
    : settings_(settings),
      rate_(settings.prior, settings.family),
      seen_ns_(now_ns),
      step_from_ns_(now_ns),
      staged_ns_(now_ns),
      persisted_ns_(now_ns) {
  settings_.in_flight_max = std::clamp(settings.in_flight_max, 1, static_cast<int>(saves_max));
  rate_.add(settings.earlier.history);
}

void Tuner::pass_time(std::int64_t now_ns) {
  if (now_ns <= seen_ns_) return;
  rate_.add_time(seconds(seen_ns_, now_ns));
  seen_ns_ = now_ns;
}

void Tuner::step_ended(std::int64_t now_ns, std::int64_t /*step*/, std::int64_t other_ns) {
  pass_time(now_ns);
  step_s_ = seconds(step_from_ns_ + blocked_ns_ + other_ns, now_ns);
  meter_.step(step_s_);
  step_from_ns_ = now_ns;
  blocked_ns_ = 0;
}

Decision Tuner::should_save(std::int64_t now_ns, std::int64_t step) const {
  if (saved_step_ == step) return {};
  const Plan wanted = plan();
  // The step end that lies nearest: half a step early is as good as half a step late.
  const auto due = [&](std::int64_t since_ns, double interval_s, double min_s) {
    const double passed_s = seconds(since_ns, now_ns);
    return passed_s >= min_s && passed_s + step_s_ / 2 >= interval_s;
  };
  Decision out;
  if (failed_ns_ && seconds(*failed_ns_, now_ns) < settings_.bounds.min_s) return out;
  out.persist = persisting(now_ns) < static_cast<std::size_t>(settings_.in_flight_max) &&
                due(persisted_ns_, wanted.persist_s, settings_.bounds.min_s);
  out.stage = out.persist || (settings_.replica && wanted.stage_s < wanted.persist_s &&
                              due(staged_ns_, wanted.stage_s, settings_.bounds.stage_min_s));
  return out;
}

void Tuner::save_started(std::int64_t now_ns, std::int64_t step, bool persist) {
  pass_time(now_ns);
  saved_step_ = step;
  drop(step);
  if (saves_.size() >= saves_max) saves_.erase(saves_.begin());
  saves_.push_back({.step = step,
                    .started_ns = now_ns,
                    .persisted_before_ns = persisted_ns_,
                    .persist = persist});
}

void Tuner::save_returned(std::int64_t now_ns, std::int64_t step) {
  pass_time(now_ns);
  Save* save = find(step);
  if (save == nullptr || save->returned) return;
  save->returned = true;
  save->returned_ns = now_ns;
  blocked_ns_ += std::max<std::int64_t>(0, now_ns - save->started_ns);
  staged_ns_ = now_ns;
  const double blocking_s = seconds(save->started_ns, now_ns);
  if (save->persist) {
    persisted_ns_ = now_ns;
    meter_.save_begun(step, blocking_s);
  } else {
    stage_cost_.add(blocking_s);
    drop(step);
  }
}

void Tuner::save_durable(std::int64_t now_ns, std::int64_t step) {
  pass_time(now_ns);
  const Save* save = find(step);
  if (save == nullptr) return;
  if (!save->returned) {  // it blocked to the very end
    save_returned(now_ns, step);
    save = find(step);
    if (save == nullptr) return;  // it was into memory only
  }
  failed_ns_.reset();
  meter_.save_durable(step, seconds(save->returned_ns, now_ns));
  drop(step);
}

void Tuner::save_failed(std::int64_t now_ns, std::int64_t step) {
  pass_time(now_ns);
  const Save* save = find(step);
  if (save == nullptr) return;
  if (!save->returned) blocked_ns_ += std::max<std::int64_t>(0, now_ns - save->started_ns);
  const auto newer = [save](const Save& other) {
    return other.persist && other.started_ns > save->started_ns;
  };
  if (save->persist && std::none_of(saves_.begin(), saves_.end(), newer)) {
    persisted_ns_ = std::min(persisted_ns_, save->persisted_before_ns);
  }
  failed_ns_ = now_ns;
  meter_.save_lost(step);
  drop(step);
}

void Tuner::failed(std::int64_t now_ns, Tier tier) {
  pass_time(now_ns);
  rate_.add_failure(tier);
  meter_.lose_all();
  saves_.clear();
  saved_step_.reset();
  failed_ns_.reset();
  step_from_ns_ = staged_ns_ = persisted_ns_ = now_ns;
  blocked_ns_ = 0;
}

SaveCost Tuner::cost() const {
  const bool seen = meter_.saves() > 0;
  SaveCost out = seen ? meter_.cost() : settings_.earlier.cost.value_or(SaveCost{});
  if (seen && settings_.earlier.cost) {
    // A new attempt knows the blocking at once, the rest only when a save has run its course.
    if (meter_.interference_known() == 0) {
      out.interference_s = settings_.earlier.cost->interference_s;
    }
    if (meter_.lags_known() == 0) out.persist_lag_s = settings_.earlier.cost->persist_lag_s;
  }
  if (!stage_cost_.empty()) {
    out.stage_s = stage_cost_.value();
  } else if (!settings_.earlier.cost || settings_.earlier.cost->stage_s <= 0) {
    out.stage_s = out.blocking_s;
  } else {
    out.stage_s = settings_.earlier.cost->stage_s;
  }
  out.in_flight_max = settings_.in_flight_max;
  return out;
}

Plan Tuner::plan() const {
  if (meter_.saves() == 0 && !settings_.earlier.cost) {
    const double first_s = std::min(std::max(settings_.first_save_s, settings_.bounds.min_s),
                                    std::max(settings_.bounds.min_s, settings_.bounds.max_s));
    return {first_s, first_s};
  }
  return best_plan(cost(), rate_.failures(settings_.replica), settings_.bounds);
}

TunerMemory Tuner::memory() const {
  TunerMemory out{rate_.own(), std::nullopt};
  if (meter_.saves() > 0 || settings_.earlier.cost) out.cost = cost();
  return out;
}

Tuner::Save* Tuner::find(std::int64_t step) {
  const auto it = std::find_if(saves_.begin(), saves_.end(),
                               [step](const Save& save) { return save.step == step; });
  return it != saves_.end() ? &*it : nullptr;
}

void Tuner::drop(std::int64_t step) {
  std::erase_if(saves_, [step](const Save& save) { return save.step == step; });
}

std::size_t Tuner::persisting(std::int64_t now_ns) const {
  return static_cast<std::size_t>(
      std::count_if(saves_.begin(), saves_.end(), [&](const Save& save) {
        return save.persist && seconds(save.started_ns, now_ns) < settings_.bounds.max_s;
      }));
}

}  // namespace headway::interval
