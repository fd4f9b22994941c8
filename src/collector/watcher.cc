#include "collector/watcher.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "fleet/fact_bytes.h"

namespace headway::collector {

using base::Status;

Watcher::Watcher(store::Store& store, Alerts& alerts, WatcherOptions options,
                 std::function<void(const std::string&)> log,
                 std::function<void(const std::vector<store::AlertRow>&)> news)
    : store_(store),
      alerts_(alerts),
      options_(std::move(options)),
      log_(std::move(log)),
      news_(std::move(news)),
      thread_([this] { run(); }) {}

Watcher::~Watcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Watcher::look(std::optional<std::int64_t> as_of_ns) {
  std::unique_lock lock(mutex_);
  as_of_ns_ = as_of_ns;
  const std::uint64_t wanted = ++asked_;
  wake_.notify_all();
  wake_.wait(lock, [&] { return done_ >= wanted || stop_; });
}

WatchState Watcher::state(const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find(tenant);
  return found == states_.end() ? WatchState() : found->second;
}

void Watcher::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const std::uint64_t asked = asked_;
    if (options_.on) {
      const std::int64_t now_ns = std::exchange(as_of_ns_, {}).value_or(base::real_ns());
      lock.unlock();
      round(now_ns);
      lock.lock();
    }
    done_ = asked;
    wake_.notify_all();
    wake_.wait_for(lock, std::chrono::nanoseconds(options_.every_ns),
                   [&] { return stop_ || asked_ > done_; });
  }
}

std::int32_t Watcher::oldest_day(std::int64_t now_ns) const {
  return fleet::day_of(now_ns) - options_.watch.series.days;
}

Status Watcher::refresh(std::int64_t now_ns) {
  const std::int32_t oldest = oldest_day(now_ns);
  return store_.facts(change_, [&](const store::FactRow& row) {
    change_ = row.change;
    auto read = fleet::facts_from_bytes(row.bytes, "facts of " + row.job);
    if (!read.ok() || read->slices.back().day < oldest) return true;
    Tenant& tenant =
        tenants_.try_emplace(row.tenant, Tenant{WatchedFacts(options_.facts_bytes_max)})
            .first->second;
    tenant.looked_at = false;
    tenant.facts.put(row.job, std::move(*read));
    return true;
  });
}

Status Watcher::look_at(const std::string& name, Tenant& tenant, std::int64_t now_ns) {
  if (tenant.looked_at && tenant.looked_day == fleet::day_of(now_ns)) {
    const std::lock_guard lock(mutex_);
    states_[name].checked_ns = now_ns;
    return {};
  }
  tenant.facts.keep_from(oldest_day(now_ns));
  const std::vector<fleet::AttemptFacts>& facts = tenant.facts.facts();
  WatchState state;
  const AlertChanges changes = alerts_.update(
      name,
      [&](std::vector<regress::Known> known) {
        regress::WatchOptions options = options_.watch;
        options.known = std::move(known);
        regress::Findings found = regress::watch(facts, options, now_ns);
        state = {
            .checked_ns = now_ns,
            .series = found.series,
            .left_out = found.series_left_out + found.strata_left_out + found.regressions_left_out,
            .attempts = facts.size(),
            .attempts_left_out = tenant.facts.left_out()};
        return found;
      },
      [&](std::size_t i) { return std::pair(tenant.facts.job(i), facts[i].attempt); }, now_ns);
  // Also where something else could not be written: what was is known the next time.
  if (!changes.rows.empty()) news_(changes.rows);
  if (!changes.status.ok()) return changes.status;
  tenant.looked_at = true;
  tenant.looked_day = fleet::day_of(now_ns);
  const std::lock_guard lock(mutex_);
  states_[name] = state;
  return {};
}

void Watcher::round(std::int64_t now_ns) {
  if (const Status status = refresh(now_ns); !status.ok()) return log_(status.message());
  for (auto& [name, tenant] : tenants_) {
    if (const Status status = look_at(name, tenant, now_ns); !status.ok()) log_(status.message());
  }
}

}  // namespace headway::collector
