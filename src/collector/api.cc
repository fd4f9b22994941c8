#include "collector/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "collector/answers.h"
#include "failure/redact_report.h"
#include "fleet/bucket_words.h"
#include "metrics/job_state.h"
#include "metrics/report.h"

namespace headway::collector {
namespace {

// An answer: there is no report.
std::optional<net::ServerAnswer> make_report(Jobs& jobs, const std::string& tenant,
                                             const std::string& job, std::int64_t now_ns,
                                             metrics::Report& report) {
  const auto found = jobs.view(tenant, job, now_ns, [&](const JobView& view) {
    report = metrics::make_report(view.result, view.names);
    report.state = metrics::job_state_name(metrics::job_state(view.result, view.alive));
  });
  if (!found.ok()) return trouble_answer(found.status());
  if (!found.value()) return error_answer(404, fmt::format("there is no job {}", job));
  return std::nullopt;
}

constexpr std::size_t advice_max = 3;
constexpr double advice_pct_min = 0.1;  // of the wall time: less is not worth somebody's night

}  // namespace

net::ServerAnswer advise_job(Jobs& jobs, const std::string& tenant, const std::string& job,
                             std::int64_t now_ns) {
  metrics::Report report;
  if (auto refusal = make_report(jobs, tenant, job, now_ns, report)) return std::move(*refusal);
  std::vector<timeline::Bucket> buckets;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    const auto bucket = static_cast<timeline::Bucket>(i);
    if (bucket != timeline::Bucket::effective) buckets.push_back(bucket);
  }
  std::ranges::stable_sort(buckets, std::greater<>(), [&](auto b) { return report.sums[b]; });
  nlohmann::json advice = nlohmann::json::array();
  for (const timeline::Bucket bucket : buckets) {
    const double pct = report.wall_ns > 0 ? 100 * static_cast<double>(report.sums[bucket]) /
                                                static_cast<double>(report.wall_ns)
                                          : 0;
    if (pct < advice_pct_min || advice.size() == advice_max) break;
    advice.push_back({{"title", fleet::bucket_label(bucket)},
                      {"text", fleet::bucket_advice(bucket)},
                      {"saves_pct", pct}});
  }
  return json_answer(200, nlohmann::json{{"advice", advice}}.dump() + "\n");
}

net::ServerAnswer report_job(Jobs& jobs, const std::string& tenant, const std::string& job,
                             std::int64_t now_ns) {
  metrics::Report report;
  if (auto refusal = make_report(jobs, tenant, job, now_ns, report)) return std::move(*refusal);
  failure::redact(report);
  return json_answer(200, metrics::to_json(report) + "\n");
}

net::ServerAnswer status_answer(const CollectorStatus& status) {
  nlohmann::json out = {{"version", status.version},
                        {"store", status.engine},
                        {"tenant", status.tenant},
                        {"role", status.role},
                        {"demo", status.demo},
                        {"now_ns", status.now_ns},
                        {"started_ns", status.started_ns},
                        {"jobs", status.jobs},
                        {"jobs_running", status.jobs_running},
                        {"attempts", status.attempts}};
  if (status.whole) {
    out["jobs_in_mind"] = status.whole->jobs_in_mind;
    out["batches"] = status.whole->batches;
    out["records"] = status.whole->records;
  }
  return json_answer(200, out.dump() + "\n");
}

}  // namespace headway::collector
