#include "collector/retention.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/duration.h"

namespace headway::collector {

using base::Status;

Retention::Retention(store::Store& store, FleetTables& tables, RetentionOptions options,
                     std::function<void(const std::string&)> log,
                     std::function<void(const std::vector<std::string>&)> changed)
    : store_(store),
      tables_(tables),
      options_(std::move(options)),
      log_(std::move(log)),
      changed_(std::move(changed)),
      offset_ns_(offset_ns()),
      thread_([this] { run(); }) {}

Retention::~Retention() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Retention::look() {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = ++asked_;
  wake_.notify_all();
  wake_.wait(lock, [&] { return done_ >= wanted || stop_; });
}

RetentionCounts Retention::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Retention::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const std::uint64_t asked = asked_;
    lock.unlock();
    round();
    lock.lock();
    done_ = asked;
    wake_.notify_all();
    wake_.wait_for(lock, std::chrono::nanoseconds(options_.every_ns),
                   [&] { return stop_ || asked_ > done_; });
  }
}

Status Retention::forget_raw(std::int64_t now_ns) {
  if (!options_.keep_raw_ns) return {};
  auto jobs = store_.forget_batches(now_ns - *options_.keep_raw_ns);
  if (!jobs.ok()) return jobs.status();
  if (*jobs > 0) log_(fmt::format("records of {} old jobs are forgotten", *jobs));
  const std::lock_guard lock(mutex_);
  counts_.jobs += *jobs;
  return {};
}

// Also what another collector has forgotten goes from what we remember.
Status Retention::forget_facts(std::int64_t now_ns) {
  if (!options_.keep_facts_ns) return {};
  const std::int64_t before_ns = now_ns - *options_.keep_facts_ns;
  auto facts = store_.forget_facts(before_ns);
  if (!facts.ok()) return facts.status();
  if (*facts > 0) log_(fmt::format("what {} old attempts came to is forgotten", *facts));
  auto tenants = tables_.forget(before_ns);
  if (!tenants.ok()) return tenants.status();
  if (!tenants->empty()) changed_(*tenants);
  const std::lock_guard lock(mutex_);
  counts_.facts += *facts;
  return {};
}

void Retention::round() {
  if (!options_.keep_raw_ns && !options_.keep_facts_ns) return;
  const std::int64_t jump_ns = offset_ns() - offset_ns_;
  Status status;
  if (std::abs(jump_ns) > jump_ns_max) {
    status = Status::io(
        fmt::format("the clock has jumped by {}: nothing is forgotten until it is right again, or "
                    "the collector is started anew",
                    base::format_duration(std::abs(jump_ns))));
  } else {
    const std::int64_t now_ns = options_.real_ns();
    status = forget_raw(now_ns);
    if (status.ok()) status = forget_facts(now_ns);
  }
  if (!status.ok() && status.message() != last_error_) log_(status.message());
  last_error_ = status.message();
  if (status.ok()) return;
  const std::lock_guard lock(mutex_);
  ++counts_.errors;
}

}  // namespace headway::collector
