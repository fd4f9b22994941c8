// Families of metrics, and their text for those who scrape: OpenMetrics 1.0, or the older format of
// Prometheus. What is in them is their maker's to say: a job's report (export_openmetrics.h), a
// collector's page; otlp/metrics_request.h sends the same families elsewhere. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/wide.h"

namespace headway::interchange {

// A time as nanoseconds, told as seconds with as many digits as it needs. Device time of a fleet
// does not fit into 64 bits.
struct Seconds {
  base::Int128 ns = 0;
};

// Counts of each bin, not added up; one more than the family has bounds.
struct Histogram {
  std::vector<std::uint64_t> counts;
  Seconds sum;
};

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Sample {
  Labels labels;
  std::variant<std::uint64_t, double, Seconds, Histogram> value;
};

enum class FamilyType : std::uint8_t { counter, gauge, histogram };

struct Family {
  std::string name;  // with its unit last, without "_total"
  FamilyType type = FamilyType::gauge;
  std::string_view unit;  // "seconds", "ratio" or none
  std::string_view help;
  std::vector<double> bounds = {};  // of a histogram, ascending
  std::vector<Sample> samples = {};
};

// Collects families; add() goes to the newest.
class Families {
 public:
  Family& begin(std::string name, FamilyType type, std::string_view unit, std::string_view help) {
    return families_.emplace_back(Family{std::move(name), type, unit, help});
  }
  void add(Labels labels, decltype(Sample::value) value) {
    families_.back().samples.push_back({std::move(labels), std::move(value)});
  }
  [[nodiscard]] const std::vector<Family>& all() const { return families_; }
  [[nodiscard]] std::vector<Family> take() { return std::move(families_); }

 private:
  std::vector<Family> families_;
};

enum class TextFormat : std::uint8_t { openmetrics, prometheus };
inline constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";
inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

// A family without samples is left out.
[[nodiscard]] std::string to_text(const std::vector<Family>& families, TextFormat format);

}  // namespace headway::interchange
