#include "cli/serve_demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
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

namespace {

std::string as_body(const std::vector<std::byte>& batch) {
  return {reinterpret_cast<const char*>(batch.data()), batch.size()};
}

}  // namespace

void DemoFleet::send(collector::Collector& collector, Running& job, std::int64_t now_ns) {
  job.sent.resize(job.told.attempts.size());
  for (std::size_t i = 0; i < job.told.attempts.size(); ++i) {
    for (const auto& batch : demo::batches_until(job.told.attempts[i], job.sent[i], now_ns)) {
      collector.take_in(job.job, job.told.attempts[i].id, as_body(batch));
    }
  }
}

void DemoFleet::say_alive(collector::Collector& collector, const Running& job,
                          std::int64_t now_ns) {
  for (std::size_t i = job.told.attempts.size(); i-- > 0;) {
    const auto batch = demo::sign_of_life(job.told.attempts[i], job.sent[i], now_ns);
    if (batch.empty()) continue;
    return collector.take_in(job.job, job.told.attempts[i].id, as_body(batch));
  }
}

// A collector that was there all the time would have found the regression when it was days old, not
// today: it is shown what was over by each of some days, and looks.
void DemoFleet::fill(collector::Collector& collector, std::int64_t now_ns) {
  const std::vector<demo::PlannedJob> plans = demo::plan_fleet(seed, now_ns, jobs_per_day);
  fmt::print(stderr, "headway serve: making up a fleet of {} jobs\n", plans.size());
  std::vector<Running> left;
  left.reserve(plans.size());
  for (const demo::PlannedJob& plan : plans) left.push_back({plan.name, demo::tell(plan), {}});
  const auto by_end = [](const Running& job) { return job.told.end_ns; };
  std::ranges::sort(left, {}, by_end);
  auto next = left.begin();
  for (int days_old = 2; days_old <= 4; ++days_old) {
    const std::int64_t then_ns = demo::day_begin_ns(now_ns, demo::kRegressionDay + days_old);
    for (; next != left.end() && next->told.end_ns < then_ns; ++next) {
      send(collector, *next, now_ns);
    }
    collector.settle();
    collector.look_for_regressions(then_ns);
  }
  for (; next != left.end(); ++next) {
    send(collector, *next, now_ns);
    if (next->told.end_ns >= now_ns) running_.push_back(std::move(*next));
  }
  collector.settle();
  collector.look_for_regressions();
}

void DemoFleet::go_on(collector::Collector& collector, std::int64_t now_ns) {
  for (Running& job : running_) send(collector, job, now_ns);
  if (now_ns >= next_sign_ns_) {
    next_sign_ns_ = now_ns + sign_every_ns;
    for (const Running& job : running_) say_alive(collector, job, now_ns);
  }
  std::erase_if(running_, [&](const Running& job) { return job.told.end_ns < now_ns; });
}

}  // namespace headway::cli
