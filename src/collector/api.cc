#include "collector/api.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "collector/answers.h"
#include "failure/redact_report.h"
#include "metrics/job_state.h"
#include "metrics/report.h"

namespace headway::collector {
namespace {

net::ServerAnswer trouble(const base::Status& status) {
  return later_answer(503, status.message(), 5);
}

}  // namespace

net::ServerAnswer list_jobs(store::Store& store, const std::string& tenant, std::size_t rows_max) {
  auto rows = store.jobs(tenant, std::min(rows_max, jobs_listed_max));
  if (!rows.ok()) return trouble(rows.status());
  nlohmann::json jobs = nlohmann::json::array();
  for (const store::JobRow& row : *rows) {
    jobs.push_back({{"job", row.name}, {"first_ns", row.first_ns}, {"heard_ns", row.heard_ns}});
  }
  return json_answer(200, nlohmann::json{{"jobs", jobs}}.dump() + "\n");
}

net::ServerAnswer report_job(Jobs& jobs, const std::string& tenant, const std::string& job,
                             std::int64_t now_ns) {
  metrics::Report report;
  const auto found = jobs.view(tenant, job, now_ns, [&](const JobView& view) {
    report = metrics::make_report(view.result, view.names);
    report.state = metrics::job_state_name(metrics::job_state(view.result, view.alive));
  });
  if (!found.ok()) return trouble(found.status());
  if (!found.value()) return error_answer(404, fmt::format("there is no job {}", job));
  failure::redact(report);
  return json_answer(200, metrics::to_json(report) + "\n");
}

}  // namespace headway::collector
