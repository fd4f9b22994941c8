#include "regress/observe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace headway::regress {
namespace {

using fleet::AttemptFacts;
using timeline::Bucket;

constexpr std::array kStart = {
    Bucket::scheduling,        Bucket::hardware_setup,     Bucket::init_imports,
    Bucket::init_device,       Bucket::init_process_group, Bucket::init_preproc,
    Bucket::init_train_module, Bucket::init_plugins,       Bucket::init_pre_train,
    Bucket::init_first_batch,  Bucket::init_restore,       Bucket::init_other,
    Bucket::compile_cold,      Bucket::compile_warm,       Bucket::down,
};
// Replay, interrupted steps and hangs follow from failures: they are counted with those.
constexpr std::array kLoopWatched = {Bucket::wasted_data_wait, Bucket::wasted_recompile,
                                     Bucket::wasted_eval, Bucket::wasted_checkpoint_blocked,
                                     Bucket::wasted_other};
constexpr std::array kLoop = {
    Bucket::wasted_data_wait, Bucket::wasted_recompile,          Bucket::effective,
    Bucket::wasted_replay,    Bucket::wasted_interrupted_step,   Bucket::wasted_hang,
    Bucket::wasted_eval,      Bucket::wasted_checkpoint_blocked, Bucket::wasted_other};
constexpr std::array kCleanEnd = {Bucket::shutdown_final_save, Bucket::shutdown_publish,
                                  Bucket::shutdown_other};
constexpr std::array kFailedEnd = {Bucket::wasted_interrupted_step, Bucket::wasted_hang};

// Days that an instant can lie on; others are nonsense.
constexpr std::int32_t day_max = fleet::day_of(INT64_MAX) - 1;

// Calls `take` with each observation of an attempt, or with those of one component.
template <typename Take>
class Observer {
 public:
  Observer(const AttemptFacts& facts, const Component* only, Take& take)
      : facts_(facts), only_(only), take_(take) {}

  [[nodiscard]] bool wants(Kind kind) const { return only_ == nullptr || only_->kind == kind; }

  void length(Kind kind, Bucket bucket, std::int64_t t_ns, std::int64_t ns) {
    if (ns < part_ns_min || !wants(kind) || !wants(bucket)) return;
    const double s = static_cast<double>(ns) / 1e9;
    take_(Observation{kind, bucket, fleet::day_of(t_ns), t_ns, s, s * facts_.devices});
  }
  void share(Bucket bucket, std::int32_t day, std::int64_t ns, std::int64_t of_ns) {
    if (ns < part_ns_min || !wants(bucket) || std::abs(day) > day_max) return;
    const std::int64_t t_ns = std::min(facts_.end_ns, (std::int64_t{day} + 1) * fleet::kDayNs - 1);
    take_(Observation{Kind::loop, bucket, day, t_ns,
                      static_cast<double>(ns) / static_cast<double>(of_ns),
                      static_cast<double>(ns) / 1e9 * facts_.devices});
  }

 private:
  [[nodiscard]] bool wants(Bucket bucket) const {
    return only_ == nullptr || only_->bucket == bucket;
  }
  const AttemptFacts& facts_;
  const Component* only_;
  Take& take_;
};

bool preempted(const AttemptFacts& facts) {
  return facts.failure && facts.failure->origin == fleet::Origin::preemption;
}

}  // namespace

std::span<const Bucket> start_buckets() {
  return kStart;
}

std::optional<Kind> kind_of(std::string_view component) {
  const auto has = [&](Kind kind, std::span<const Bucket> buckets) {
    return std::ranges::any_of(
        buckets, [&](Bucket bucket) { return component_name({kind, bucket, {}}) == component; });
  };
  for (const Kind kind : {Kind::start, Kind::recover, Kind::start_often, Kind::recover_often}) {
    if (has(kind, kStart)) return kind;
  }
  if (component == component_name({Kind::recover, Bucket::wasted_replay, {}})) return Kind::recover;
  if (has(Kind::loop, kLoopWatched)) return Kind::loop;
  if (has(Kind::end, kCleanEnd) || has(Kind::end, kFailedEnd)) return Kind::end;
  constexpr std::string_view failures = "failures:";
  if (component.starts_with(failures) && component.size() > failures.size()) return Kind::failures;
  return std::nullopt;
}

std::int64_t loop_ns(const timeline::Sums& sums) {
  std::int64_t sum = 0;
  for (const Bucket bucket : kLoop) sum += sums[bucket];
  return sum;
}

namespace {

template <typename Take>
void observe_each(const AttemptFacts& facts, const Component* only, Take take) {
  Observer<Take> observer(facts, only, take);
  if (facts.start) {
    const Kind kind = facts.start->recovery ? Kind::recover : Kind::start;
    for (const Bucket bucket : kStart) {
      observer.length(kind, bucket, facts.start->trained_ns, facts.start->parts[bucket]);
    }
  }
  if (observer.wants(Kind::loop)) {
    for (const fleet::Slice& slice : facts.slices) {
      const std::int64_t loop = loop_ns(slice.sums);
      if (loop < loop_ns_min) continue;
      for (const Bucket bucket : kLoopWatched) {
        observer.share(bucket, slice.day, slice.sums[bucket], loop);
      }
    }
  }
  if (!observer.wants(Kind::recover) && !observer.wants(Kind::end)) return;
  const auto all_ns = [&](Bucket bucket) {
    std::int64_t sum = 0;
    for (const fleet::Slice& slice : facts.slices) sum += slice.sums[bucket];
    return sum;
  };
  if (facts.start && facts.start->recovery) {
    observer.length(Kind::recover, Bucket::wasted_replay, facts.start->trained_ns,
                    all_ns(Bucket::wasted_replay));
  }
  if (facts.ending == fleet::Ending::clean) {
    for (const Bucket bucket : kCleanEnd) {
      observer.length(Kind::end, bucket, facts.end_ns, all_ns(bucket));
    }
  } else if (facts.ending == fleet::Ending::failed && !preempted(facts)) {
    for (const Bucket bucket : kFailedEnd) {
      observer.length(Kind::end, bucket, facts.end_ns, all_ns(bucket));
    }
  }
}

}  // namespace

void observe(const AttemptFacts& facts, std::vector<Observation>& out) {
  observe_each(facts, nullptr, [&](const Observation& each) { out.push_back(each); });
}

std::optional<std::string_view> failure_category(const AttemptFacts& facts, bool user_errors) {
  if (!facts.failure) return std::nullopt;
  if (preempted(facts)) return preemption_category;
  if (facts.failure->origin == fleet::Origin::user && !user_errors) return std::nullopt;
  return facts.failure->category;
}

void sample(const AttemptFacts& facts, std::size_t index, const Component& component,
            std::int32_t first_day, std::int32_t last_day, std::vector<Sample>& out) {
  if (facts.slices.empty() || facts.slices.back().day < first_day) return;
  if (facts.slices.front().day > last_day) return;
  const auto inside = [&](std::int32_t day) { return first_day <= day && day <= last_day; };
  if (component.kind == Kind::failures) {
    const auto category = failure_category(facts, true);
    const bool own = category && *category == component.category;
    const double lost_s =
        own ? static_cast<double>(facts.failure->lost_ns) / 1e9 * facts.devices : 0;
    for (const fleet::Slice& slice : facts.slices) {
      if (!inside(slice.day)) continue;
      const double hours = static_cast<double>(slice.sums.total()) / 3.6e12 * facts.devices;
      out.push_back({index, std::int64_t{slice.day} * fleet::kDayNs, 0, hours, 0});
    }
    if (own && inside(fleet::day_of(facts.failure->t_ns))) {
      out.push_back({index, facts.failure->t_ns, 1, 0, lost_s});
    }
    return;
  }
  if (component.kind == Kind::start_often || component.kind == Kind::recover_often) {
    const bool recovery = component.kind == Kind::recover_often;
    if (!facts.start || facts.start->recovery != recovery) return;
    const std::int64_t ns = facts.start->parts[component.bucket];
    if (!inside(fleet::day_of(facts.start->trained_ns))) return;
    const bool hit = ns >= part_ns_min;
    out.push_back({index, facts.start->trained_ns, hit ? 1.0 : 0.0, 1,
                   hit ? static_cast<double>(ns) / 1e9 * facts.devices : 0});
    return;
  }
  observe_each(facts, &component, [&](const Observation& each) {
    if (inside(each.day)) out.push_back({index, each.t_ns, std::log(each.value), 1, each.device_s});
  });
}

}  // namespace headway::regress
