#include "interval/save_meter.h"

#include <algorithm>

namespace headway::interval {

void SaveMeter::step(double seconds) {
  if (open_.empty()) {
    if (base_.size() < base_steps_max) {
      base_.push_back(seconds);
    } else {
      base_[base_count_ % base_steps_max] = seconds;
    }
    ++base_count_;
    last_excess_s_ = 0;
    return;
  }
  // Saves on their way together share what they do to a step.
  const double share = 1 / static_cast<double>(open_.size());
  for (Open& save : open_) {
    save.seconds += seconds * share;
    save.steps += share;
  }
  const std::optional<double> base = base_step_s();
  last_excess_s_ = base ? std::max(0.0, seconds - *base) : 0;
  settle();
}

// Saves that became durable during the step that has just ended.
void SaveMeter::settle() {
  const std::optional<double> base = base_step_s();
  for (const Open& save : open_) {
    if (!save.durable || !base) continue;
    // The sign stays: noise of some saves must cancel that of others. cost() cuts at 0.
    interference_.add(save.seconds - save.steps * *base);
  }
  std::erase_if(open_, [](const Open& save) { return save.durable; });
}

void SaveMeter::save_begun(std::int64_t id, double blocking_s) {
  blocking_.add(blocking_s);
  if (open_.size() < open_saves_max) open_.push_back({.id = id});
}

void SaveMeter::save_durable(std::int64_t id, double lag_s) {
  lag_.add(lag_s);
  for (Open& save : open_) {
    if (save.id == id) save.durable = true;
  }
}

void SaveMeter::save_lost(std::int64_t id) {
  std::erase_if(open_, [id](const Open& save) { return save.id == id && !save.durable; });
}

void SaveMeter::lose_all() {
  open_.clear();
}

std::optional<double> SaveMeter::base_step_s() const {
  if (base_.size() < base_steps_min) return std::nullopt;
  std::vector<double> sorted = base_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

std::size_t SaveMeter::in_flight() const {
  return static_cast<std::size_t>(
      std::count_if(open_.begin(), open_.end(), [](const Open& save) { return !save.durable; }));
}

SaveCost SaveMeter::cost() const {
  SaveCost out;
  out.blocking_s = blocking_.value();
  out.interference_s = std::max(0.0, interference_.value());
  out.persist_lag_s = lag_.value();
  return out;
}

}  // namespace headway::interval
