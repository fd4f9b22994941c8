#include "collector/watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
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

Status Watcher::refresh(std::int64_t now_ns) {
  const std::int32_t oldest = fleet::day_of(now_ns) - options_.watch.series.days;
  return store_.facts(change_, [&](const store::FactRow& row) {
    change_ = row.change;
    auto read = fleet::facts_from_bytes(row.bytes, "facts of " + row.job);
    if (!read.ok() || read->slices.back().day < oldest) return true;
    read->job = std::max<std::uint64_t>(1, std::hash<std::string>()(row.job));
    Facts& facts = facts_[row.tenant];
    facts.looked_at = false;
    const auto [it, fresh] =
        facts.index.try_emplace(fmt::format("{}/{}", row.job, row.attempt), facts.facts.size());
    if (fresh) {
      facts.facts.push_back(std::move(*read));
      facts.jobs.push_back(row.job);
    } else {
      facts.facts[it->second] = std::move(*read);
    }
    return true;
  });
}

// Those that lie before the watched days, and the oldest of too many.
void Watcher::forget_old(Facts& facts, std::int64_t now_ns) const {
  const std::int32_t oldest = fleet::day_of(now_ns) - options_.watch.series.days;
  std::vector<std::size_t> kept(facts.facts.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  std::erase_if(kept, [&](std::size_t i) { return facts.facts[i].slices.back().day < oldest; });
  if (kept.size() > options_.facts_max) {
    const auto middle = kept.begin() + static_cast<std::ptrdiff_t>(options_.facts_max);
    std::nth_element(kept.begin(), middle, kept.end(), [&](std::size_t a, std::size_t b) {
      return facts.facts[a].end_ns > facts.facts[b].end_ns;
    });
    kept.erase(middle, kept.end());
  }
  if (kept.size() == facts.facts.size()) return;
  Facts left;
  for (const std::size_t i : kept) {
    left.index.emplace(fmt::format("{}/{}", facts.jobs[i], facts.facts[i].attempt),
                       left.facts.size());
    left.facts.push_back(std::move(facts.facts[i]));
    left.jobs.push_back(std::move(facts.jobs[i]));
  }
  facts = std::move(left);
}

Status Watcher::look_at(const std::string& tenant, Facts& facts, std::int64_t now_ns) {
  if (facts.looked_at && facts.looked_day == fleet::day_of(now_ns)) {
    const std::lock_guard lock(mutex_);
    states_[tenant].checked_ns = now_ns;
    return {};
  }
  forget_old(facts, now_ns);
  WatchState state;
  const AlertChanges changes = alerts_.update(
      tenant,
      [&](std::vector<regress::Known> known) {
        regress::WatchOptions options = options_.watch;
        options.known = std::move(known);
        regress::Findings found = regress::watch(facts.facts, options, now_ns);
        state = {now_ns, found.series,
                 found.series_left_out + found.strata_left_out + found.regressions_left_out,
                 facts.facts.size()};
        return found;
      },
      [&](std::size_t i) { return std::pair(facts.jobs[i], facts.facts[i].attempt); }, now_ns);
  // Also where something else could not be written: what was is known the next time.
  if (!changes.rows.empty()) news_(changes.rows);
  if (!changes.status.ok()) return changes.status;
  facts.looked_at = true;
  facts.looked_day = fleet::day_of(now_ns);
  const std::lock_guard lock(mutex_);
  states_[tenant] = state;
  return {};
}

void Watcher::round(std::int64_t now_ns) {
  if (const Status status = refresh(now_ns); !status.ok()) return log_(status.message());
  for (auto& [tenant, facts] : facts_) {
    if (const Status status = look_at(tenant, facts, now_ns); !status.ok()) log_(status.message());
  }
}

}  // namespace headway::collector
