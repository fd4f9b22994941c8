#include "failure/redact_report.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "failure/redact.h"

namespace headway::failure {

void redact(metrics::Report& report) {
  std::map<std::string, std::string> attrs;
  for (const auto& [key, value] : report.attrs) {
    attrs.emplace(redact_text(key), redact_setting(key, value));
  }
  report.attrs = std::move(attrs);
  std::map<std::string, std::int64_t> spans;
  for (const auto& [name, ns] : report.user_spans) spans[redact_text(name)] += ns;
  report.user_spans = std::move(spans);
  for (metrics::FailureRow& row : report.failure_rows) {
    row.reason = redact_text(row.reason);
  }
  for (metrics::AttemptRow& row : report.attempts) {
    row.restored_tier = redact_text(row.restored_tier);
  }
  std::map<std::string, std::uint64_t> restarts;
  for (const auto& [tier, count] : report.restarts) restarts[redact_text(tier)] += count;
  report.restarts = std::move(restarts);
  for (std::string& note : report.coverage.notes) note = redact_text(note);
}

}  // namespace headway::failure
