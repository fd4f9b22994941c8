// How long regressions went unnoticed: from their beginning to their alert, per component, against
// a target. Owned by one caller; not thread-safe. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headway::regress {

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

  explicit Sla(double target_s) : target_s_(target_s) {}
  // For a component that has a target of its own.
  void set_target(const std::string& component, double target_s);
  void add(const std::string& component, std::int64_t began_ns, std::int64_t alerted_ns);

  // By component; those without an alert are not there.
  [[nodiscard]] std::vector<SlaRow> rows() const;
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  double target_s_;
  std::map<std::string, double> targets_s_;
  std::map<std::string, std::vector<double>> waits_s_;
  std::size_t alerts_ = 0, left_out_ = 0;
};

}  // namespace headway::regress
