#include "cli/serve_demo.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "demo/plan.h"

namespace headway::cli {

base::Result<std::unique_ptr<DemoFleet>> DemoFleet::make() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "headway-demo-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr) {
    return base::errno_status(path, "cannot be made", errno);
  }
  return std::make_unique<DemoFleet>(path);
}

DemoFleet::~DemoFleet() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void DemoFleet::send(collector::Collector& collector, Running& job, std::int64_t now_ns) {
  job.sent.resize(job.told.attempts.size());
  for (std::size_t i = 0; i < job.told.attempts.size(); ++i) {
    for (const auto& batch : demo::batches_until(job.told.attempts[i], job.sent[i], now_ns)) {
      collector.take_in(job.job, job.told.attempts[i].id,
                        std::string(reinterpret_cast<const char*>(batch.data()), batch.size()));
    }
  }
}

void DemoFleet::fill(collector::Collector& collector, std::int64_t now_ns) {
  const std::vector<demo::PlannedJob> plans = demo::plan_fleet(seed, now_ns, jobs_per_day);
  fmt::print(stderr, "headway serve: making up a fleet of {} jobs\n", plans.size());
  for (const demo::PlannedJob& plan : plans) {
    Running job{plan.name, demo::tell(plan), {}};
    send(collector, job, now_ns);
    if (job.told.end_ns >= now_ns) running_.push_back(std::move(job));
  }
  collector.settle();
  collector.look_for_regressions();
}

void DemoFleet::go_on(collector::Collector& collector, std::int64_t now_ns) {
  for (Running& job : running_) send(collector, job, now_ns);
  std::erase_if(running_, [&](const Running& job) { return job.told.end_ns < now_ns; });
}

}  // namespace headway::cli
