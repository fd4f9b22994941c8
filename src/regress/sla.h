// How long regressions went unnoticed: from their beginning to their alert, per component, against
// a target. Owned by one caller each; not thread-safe. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "regress/component.h"

namespace headway::regress {

// How soon a regression of a component should be found, at the latest. What there is most of is
// known soonest: a start is complete when it is over, a loop's share when its day is, and what is
// rare has to happen a few times more.
class AlertTargets {
 public:
  static constexpr std::size_t own_max = 1000;
  AlertTargets();
  // `what`: a component's name ("compile_cold") or that of a kind (kind_word). False: neither.
  bool set(const std::string& what, double target_s);
  [[nodiscard]] double of(const std::string& component) const;

 private:
  std::map<Kind, double> kinds_s_;
  std::map<std::string, double> own_s_;
};

struct SlaRow {
  std::string component;
  double target_s = 0;
  double p50_s = 0, p90_s = 0;
  std::size_t alerts = 0;
  std::size_t late = 0;  // of alerts: after the target
};

class Sla {
 public:
  static constexpr std::size_t components_max = 1000;
  static constexpr std::size_t alerts_max = 100'000;  // further ones are counted as left out

  explicit Sla(AlertTargets targets) : targets_(std::move(targets)) {}
  void add(const std::string& component, std::int64_t began_ns, std::int64_t alerted_ns);

  // By component; those without an alert are not there.
  [[nodiscard]] std::vector<SlaRow> rows() const;
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  AlertTargets targets_;
  std::map<std::string, std::vector<double>> waits_s_;
  std::size_t alerts_ = 0, left_out_ = 0;
};

}  // namespace headway::regress
