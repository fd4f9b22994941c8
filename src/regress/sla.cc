#include "regress/sla.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "regress/observe.h"

namespace headway::regress {
namespace {

// The smallest value that `share` of all do not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  HW_CHECK(!sorted.empty());
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

AlertTargets::AlertTargets() {
  constexpr double day_s = 86'400;
  kinds_s_ = {{Kind::start, 2 * day_s},       {Kind::recover, 3 * day_s},
              {Kind::loop, 3 * day_s},        {Kind::end, 3 * day_s},
              {Kind::start_often, 3 * day_s}, {Kind::recover_often, 5 * day_s},
              {Kind::failures, 7 * day_s}};
  HW_CHECK(kinds_s_.size() == kKinds);
}

bool AlertTargets::set(const std::string& what, double target_s) {
  for (auto& [kind, of_kind_s] : kinds_s_) {
    if (kind_word(kind) != what) continue;
    of_kind_s = target_s;
    return true;
  }
  if (!kind_of(what) || own_s_.size() == own_max) return false;
  own_s_[what] = target_s;
  return true;
}

double AlertTargets::of(const std::string& component) const {
  const auto own = own_s_.find(component);
  if (own != own_s_.end()) return own->second;
  return kinds_s_.at(kind_of(component).value_or(Kind::failures));
}

void Sla::add(const std::string& component, std::int64_t began_ns, std::int64_t alerted_ns) {
  const bool room = waits_s_.contains(component) || waits_s_.size() < components_max;
  if (!room || alerts_ == alerts_max) {
    ++left_out_;
    return;
  }
  ++alerts_;
  const auto wait_ns = static_cast<double>(alerted_ns) - static_cast<double>(began_ns);
  waits_s_[component].push_back(std::max(0.0, wait_ns / 1e9));
}

std::vector<SlaRow> Sla::rows() const {
  std::vector<SlaRow> out;
  for (const auto& [component, waits] : waits_s_) {
    std::vector<double> sorted = waits;
    std::ranges::sort(sorted);
    SlaRow row;
    row.component = component;
    row.target_s = targets_.of(component);
    row.p50_s = quantile(sorted, 0.5);
    row.p90_s = quantile(sorted, 0.9);
    row.alerts = sorted.size();
    row.late = static_cast<std::size_t>(
        std::ranges::count_if(sorted, [&](double wait) { return wait > row.target_s; }));
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace headway::regress
