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

net::ServerAnswer status_answer(const CollectorStatus& status) {
  const nlohmann::json out = {{"version", status.version},
                              {"store", status.engine},
                              {"tenant", status.tenant},
                              {"role", status.role},
                              {"demo", status.demo},
                              {"now_ns", status.now_ns},
                              {"started_ns", status.started_ns},
                              {"attempts", status.attempts},
                              {"jobs_in_mind", status.jobs_in_mind},
                              {"batches", status.batches},
                              {"records", status.records}};
  return json_answer(200, out.dump() + "\n");
}

}  // namespace headway::collector
