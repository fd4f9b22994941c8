#include "regress/sla.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace headway::regress {
namespace {

// The smallest value that `share` of all do not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  HW_CHECK(!sorted.empty());
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

void Sla::set_target(const std::string& component, double target_s) {
  if (targets_s_.contains(component) || targets_s_.size() < components_max) {
    targets_s_[component] = target_s;
  }
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
    const auto own = targets_s_.find(component);
    row.target_s = own == targets_s_.end() ? target_s_ : own->second;
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
