#include "regress/test_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "regress/observe.h"

namespace headway::regress {
namespace {

using fleet::AttemptFacts;
using fleet::Dimension;
using timeline::Bucket;
using timeline::kBuckets;

constexpr std::array kCategories = {"gpu_oom", "nccl_timeout", "host_lost"};
constexpr double kFailedShare = 0.06;
constexpr double kPreemptedShare = 0.04;

std::string& field(AttemptFacts& facts, Dimension dimension) {
  return facts.dimensions[static_cast<std::size_t>(dimension)];
}

std::uint32_t devices_of(std::size_t stratum) {
  constexpr std::array<std::uint32_t, 4> sizes = {8, 64, 512, 4};
  return sizes[stratum % sizes.size()];
}

std::string family_of(std::size_t stratum) {
  return fmt::format("family{}", stratum / 2);
}

std::string hardware_of(std::size_t stratum) {
  return stratum % 2 == 0 ? "h100" : "a100";
}

}  // namespace

double TestFleet::base_s(Bucket bucket) {
  switch (bucket) {
    case Bucket::scheduling:
      return 20;
    case Bucket::hardware_setup:
      return 60;
    case Bucket::init_imports:
      return 15;
    case Bucket::init_device:
      return 4;
    case Bucket::init_process_group:
      return 12;
    case Bucket::init_train_module:
      return 40;
    case Bucket::init_first_batch:
      return 25;
    case Bucket::init_restore:
      return 30;
    case Bucket::compile_cold:
      return 300;
    case Bucket::compile_warm:
      return 45;
    case Bucket::down:
      return 35;
    case Bucket::wasted_replay:
      return 200;
    case Bucket::wasted_interrupted_step:
      return 2;
    case Bucket::shutdown_final_save:
      return 40;
    case Bucket::shutdown_other:
      return 5;
    default:
      return 0;
  }
}

double TestFleet::loop_share(Bucket bucket) {
  switch (bucket) {
    case Bucket::wasted_data_wait:
      return 0.03;
    case Bucket::wasted_checkpoint_blocked:
      return 0.02;
    case Bucket::wasted_eval:
      return 0.01;
    case Bucket::wasted_recompile:
      return 0.005;
    default:
      return 0;
  }
}

std::string TestFleet::stratum_key(std::size_t stratum) const {
  return fmt::format("family={},hardware={},size={}", family_of(stratum), hardware_of(stratum),
                     fleet::size_class(devices_of(stratum)));
}

double TestFleet::factor(std::size_t stratum, const Component& component) const {
  double out = 1;
  for (const Injected& each : model_.changes) {
    const bool now = next_day() >= each.day && next_day() < each.until_day;
    if (now && each.stratum == stratum && each.component == component) out *= each.factor;
  }
  return out;
}

double TestFleet::preempted_share() const {
  const bool wave = next_day() >= model_.wave_day && next_day() < model_.wave_until_day;
  return wave ? 10 * kPreemptedShare : kPreemptedShare;
}

std::int64_t TestFleet::noisy_ns(double seconds) {
  double off = model_.noise * std::normal_distribution<double>()(random_);
  if (model_.outliers > 0 && uniform() < model_.outliers) off += std::log(10.0);
  return static_cast<std::int64_t>(seconds * std::exp(off) * 1e9);
}

void TestFleet::add_day(std::vector<AttemptFacts>& out) {
  for (std::size_t stratum = 0; stratum < model_.strata; ++stratum) add_stratum(stratum, out);
  ++day_;
}

void TestFleet::add_stratum(std::size_t stratum, std::vector<AttemptFacts>& out) {
  double mean = model_.attempts_per_day;
  if (next_day() >= model_.mix_day) mean *= stratum % 2 == 0 ? 0.5 : 1.5;
  const int count = std::poisson_distribution<int>(mean)(random_);
  const bool weekend = (next_day() + 4) % 7 == 6 || (next_day() + 4) % 7 == 0;
  std::vector<double> mood(kBuckets, 1 + (weekend ? model_.weekend : 0));
  if (model_.day_noise > 0) {
    for (double& each : mood) {
      each *= std::exp(model_.day_noise * std::normal_distribution<double>()(random_));
    }
  }
  const double recoveries = kFailedShare + preempted_share();
  for (int i = 0; i < count; ++i) out.push_back(attempt(stratum, uniform() < recoveries, mood));
}

AttemptFacts TestFleet::attempt(std::size_t stratum, bool recovery,
                                const std::vector<double>& mood) {
  AttemptFacts facts;
  facts.attempt = 1;
  facts.devices = devices_of(stratum);
  field(facts, Dimension::family) = family_of(stratum);
  field(facts, Dimension::hardware) = hardware_of(stratum);
  field(facts, Dimension::size) = fleet::size_class(facts.devices);
  const bool slow = uniform() < (next_day() >= model_.mix_day ? 0.8 : 0.2);
  field(facts, Dimension::cluster) = slow ? "west" : "east";
  field(facts, Dimension::team) = fmt::format("team{}", static_cast<int>(uniform() * 3));
  field(facts, Dimension::torch) = "2.8";
  field(facts, Dimension::revision) = fmt::format("r{}", next_day() / 5);
  field(facts, Dimension::config) = fmt::format("c{}", static_cast<int>(uniform() * 20));
  for (const Injected& each : model_.changes) {
    const bool now = next_day() >= each.day && next_day() < each.until_day;
    if (now && each.stratum == stratum && !each.torch.empty()) {
      field(facts, Dimension::torch) = each.torch;
    }
  }
  facts.hosts = {fmt::format("host{:02}", static_cast<int>(uniform() * 64))};
  facts.levers = {"warm_cache"};
  facts.begin_ns =
      std::int64_t{next_day()} * fleet::kDayNs + static_cast<std::int64_t>(uniform() * 14 * 3600e9);
  facts.slices.push_back({next_day(), {}, 0, 0, 0});
  add_start(stratum, facts, recovery, slow, mood);
  add_loop(stratum, facts, mood);
  add_end(stratum, facts, mood);
  facts.end_ns = facts.begin_ns + facts.slices.front().sums.total();
  if (facts.failure) facts.failure->t_ns = facts.end_ns;
  return facts;
}

void TestFleet::add_start(std::size_t stratum, AttemptFacts& facts, bool recovery, bool slow,
                          const std::vector<double>& mood) {
  const Kind kind = recovery ? Kind::recover : Kind::start;
  const Kind often = recovery ? Kind::recover_often : Kind::start_often;
  fleet::Start start;
  start.from_ns = facts.begin_ns;
  start.recovery = recovery;
  const double cold_share = 0.3 * factor(stratum, {often, Bucket::compile_cold, {}});
  const bool cold = uniform() < cold_share;
  for (const Bucket bucket : start_buckets()) {
    if (!recovery && (bucket == Bucket::down || bucket == Bucket::init_restore)) continue;
    if (bucket == (cold ? Bucket::compile_warm : Bucket::compile_cold)) continue;
    const double base = base_s(bucket);
    if (base <= 0) continue;
    double scale = mood[timeline::index(bucket)] * factor(stratum, {kind, bucket, {}});
    if (slow && bucket == Bucket::hardware_setup) scale *= model_.slow_cluster;
    start.parts[bucket] = noisy_ns(base * scale);
  }
  start.trained_ns = start.from_ns + start.parts.total();
  fleet::Slice& slice = facts.slices.front();
  slice.sums += start.parts;
  if (recovery) {
    const Bucket replay = Bucket::wasted_replay;
    slice.sums[replay] =
        noisy_ns(base_s(replay) * factor(stratum, {kind, replay, {}}) * 2 * uniform());
    slice.failure_ns = start.parts.total() + slice.sums[replay];
  }
  facts.start = start;
}

void TestFleet::add_loop(std::size_t stratum, AttemptFacts& facts,
                         const std::vector<double>& mood) {
  timeline::Sums& sums = facts.slices.front().sums;
  const double loop_s = 3600 * (1 + 7 * uniform());
  double rest_s = loop_s;
  for (const Bucket bucket : {Bucket::wasted_data_wait, Bucket::wasted_checkpoint_blocked,
                              Bucket::wasted_eval, Bucket::wasted_recompile}) {
    const std::int64_t ns = noisy_ns(loop_s * loop_share(bucket) * mood[timeline::index(bucket)] *
                                     factor(stratum, {Kind::loop, bucket, {}}));
    sums[bucket] = ns;
    rest_s -= static_cast<double>(ns) / 1e9;
  }
  sums[Bucket::effective] = static_cast<std::int64_t>(std::max(rest_s, 1.0) * 1e9);
}

void TestFleet::add_end(std::size_t stratum, AttemptFacts& facts, const std::vector<double>& mood) {
  fleet::Slice& slice = facts.slices.front();
  double at = uniform();
  facts.ending = fleet::Ending::failed;
  fleet::FailureFact failure;
  failure.host = facts.hosts.front();
  failure.lost_ns = noisy_ns(400);
  failure.unsaved_ns = noisy_ns(200);
  slice.saves = 5;
  if ((at -= preempted_share()) < 0) {
    failure.origin = fleet::Origin::preemption;
    facts.failure = failure;
    return;
  }
  for (const char* category : kCategories) {
    at -= kFailedShare / kCategories.size() * factor(stratum, {Kind::failures, {}, category});
    if (at >= 0) continue;
    failure.origin = fleet::Origin::infra;
    failure.category = category;
    facts.failure = failure;
    const Bucket step = Bucket::wasted_interrupted_step;
    slice.sums[step] = noisy_ns(base_s(step));
    slice.failure_ns += slice.sums[step];
    return;
  }
  facts.ending = fleet::Ending::clean;
  for (const Bucket bucket : {Bucket::shutdown_final_save, Bucket::shutdown_other}) {
    slice.sums[bucket] = noisy_ns(base_s(bucket) * mood[timeline::index(bucket)] *
                                  factor(stratum, {Kind::end, bucket, {}}));
  }
}

}  // namespace headway::regress
