// A fleet that never was: facts of attempts made from a seed, plausible enough to test and to time
// with. Jobs of some twenty families fail and come again, days are cut at midnight, switches are
// adopted over the weeks and do what is said of them. For tests and benchmarks only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fleet/fact.h"

namespace headway::fleet {

struct MadeJob {
  std::string name;
  std::vector<AttemptFacts> attempts;
};

struct MadeFleet {
  struct Settings {
    std::uint64_t seed = 1;
    std::int32_t first_day = 20'700, days = 90;
    std::uint32_t hosts = 512;           // of 8 devices
    double failures_per_host_day = 0.5;  // of infra
    std::uint32_t lemon = 0xffffffff;    // this host fails lemon_times as often
    double lemon_times = 20;
    double compile_cache_saves = 0.4;  // of compile time, where the lever compile_cache is on
  };

  explicit MadeFleet(const Settings& wanted) : settings(wanted), random(wanted.seed) {}

  // The next job; ids count up.
  MadeJob next() {
    MadeJob job;
    job.name = "job-" + std::to_string(jobs++);
    const std::size_t family = zipf(20);
    constexpr std::array<std::uint32_t, 8> kSizes = {1, 4, 8, 8, 16, 32, 64, 256};
    devices = kSizes[pick(kSizes.size())];
    cluster = static_cast<std::uint32_t>(pick(4));
    const auto begin_day = settings.first_day + static_cast<std::int32_t>(pick(settings.days));
    t_ns = begin_day * kDayNs + static_cast<std::int64_t>(pick(86'400)) * 1'000'000'000;
    last_ns = (settings.first_day + settings.days) * kDayNs;
    const double adopted = static_cast<double>(begin_day - settings.first_day) / settings.days;
    AttemptFacts base;
    base.dimensions = {"family-" + std::to_string(family),
                       "team-" + std::to_string((family * 7 + pick(3)) % 12),
                       "cluster-" + std::to_string(cluster),
                       cluster < 2 ? "h100" : "a100",
                       std::string(size_class(devices)),
                       adopted < 0.5 ? "2.12" : "2.13",
                       pick(4) == 0 ? "high" : "normal",
                       "rev-" + std::to_string(begin_day / 2 * 3 + static_cast<int>(pick(3))),
                       "config-" + std::to_string(family * 40 + pick(40))};
    base.devices = devices;
    constexpr std::array<const char*, 6> kLevers = {"async_checkpoint", "compile_cache",
                                                    "fast_batch",       "fork_server",
                                                    "local_metadata",   "replica"};
    for (std::size_t i = 0; i < kLevers.size(); ++i) {
      if (uniform() < adopted * (0.4 + 0.1 * static_cast<double>(i)))
        base.levers.emplace_back(kLevers[i]);
    }
    run(base, 0.5 + 0.15 * static_cast<double>(family), job);
    return job;
  }

  Settings settings;
  std::mt19937_64 random;

 private:
  using Bucket = timeline::Bucket;

  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random); }
  std::uint64_t pick(std::uint64_t n) { return random() % n; }
  double spread(double median, double sigma) {
    return median * std::exp(std::normal_distribution<double>(0, sigma)(random));
  }
  std::size_t zipf(std::size_t n) {
    const double x = std::pow(static_cast<double>(n + 1), uniform());
    return std::min(n - 1, static_cast<std::size_t>(x) - 1);
  }
  static std::int64_t ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }
  static bool has(const AttemptFacts& facts, const char* lever) {
    return std::ranges::find(facts.levers, lever) != facts.levers.end();
  }

  void run(const AttemptFacts& base, double scale, MadeJob& job) {
    double left_s = spread(20'000, 1.1);  // of training
    std::int64_t failed_ns = -1;
    std::int64_t first_ns = -1;
    double unsaved_s = 0;
    for (std::int64_t attempt = 1; t_ns < last_ns; ++attempt) {
      AttemptFacts facts = base;
      facts.attempt = attempt;
      facts.begin_ns = t_ns;
      choose_hosts(facts);
      if (failed_ns >= 0) spend(facts, Bucket::down, spread(40, 0.5));
      const bool recovering = failed_ns >= 0;
      failing = recovering;
      spend(facts, Bucket::scheduling, spread(20, 0.6));
      const std::int64_t allocated_ns = t_ns;
      if (first_ns < 0) first_ns = allocated_ns;
      const timeline::Sums before = sums_of(facts);
      start_up(facts, scale);
      failing = false;
      if (t_ns >= last_ns) {  // not yet trained
        facts.end_ns = t_ns;
        job.attempts.push_back(std::move(facts));
        return;
      }
      Start start;
      start.recovery = recovering;
      start.from_ns = recovering ? failed_ns : first_ns;
      start.trained_ns = t_ns;
      start.parts = sums_of(facts);
      if (!recovering) start.parts -= before;
      start.outside_ns = start.length_ns() - start.parts.total();
      facts.start = start;
      if (unsaved_s > 0) {
        failing = true;
        spend(facts, Bucket::wasted_replay, unsaved_s);
        failing = false;
      }
      const double rate_per_s = settings.failures_per_host_day / 86'400 * weight_of_hosts;
      const double until_s = -std::log(1 - uniform()) / rate_per_s;
      const bool user_error = uniform() < 0.05;
      double trains_s = std::min(left_s, until_s);
      if (user_error) trains_s *= uniform();
      train(facts, trains_s);
      left_s -= trains_s;
      facts.end_ns = t_ns;
      if (t_ns >= last_ns) {
        settle(job, facts);
        return;
      }
      if (left_s <= 0 && !user_error) {
        spend(facts, Bucket::shutdown_final_save, spread(30, 0.4));
        facts.end_ns = t_ns;
        facts.ending = t_ns >= last_ns ? Ending::running : Ending::clean;
        settle(job, facts);
        return;
      }
      fail(facts, user_error, trains_s);
      unsaved_s = static_cast<double>(facts.failure->unsaved_ns) * 1e-9;
      left_s += unsaved_s;
      failed_ns = facts.failure->t_ns;
      settle(job, facts);
      if (user_error && uniform() < 0.5) return;
    }
  }

  // Once it is known that the one before was recovered from.
  void settle(MadeJob& job, AttemptFacts& facts) {
    if (!job.attempts.empty() && facts.start && job.attempts.back().failure) {
      job.attempts.back().failure->time_to_recover_ns = facts.start->length_ns();
    }
    job.attempts.push_back(facts);
  }

  void fail(AttemptFacts& facts, bool user_error, double trained_s) {
    constexpr std::array<const char*, 5> kCategories = {"gpu_xid", "nccl_timeout", "host_oom",
                                                        "storage", "node_lost"};
    facts.ending = Ending::failed;
    FailureFact failure;
    failure.t_ns = t_ns;
    const bool preempted = !user_error && uniform() < 0.2;
    failure.origin = user_error ? Origin::user : preempted ? Origin::preemption : Origin::infra;
    failure.category = user_error ? "user_code" : preempted ? "preempted" : kCategories[pick(5)];
    failure.host = facts.hosts[failing_host];
    failure.unsaved_ns = ns(std::min(trained_s, 900.0) * uniform());
    failure.lost_ns = failure.unsaved_ns + ns(spread(300, 0.5));
    facts.failure = failure;
  }

  void choose_hosts(AttemptFacts& facts) {
    const std::uint32_t count = std::max(1u, devices / 8);
    const std::uint32_t each = settings.hosts / 4;
    const std::uint32_t first = cluster * each + static_cast<std::uint32_t>(pick(each));
    weight_of_hosts = 0;
    facts.hosts.clear();
    std::vector<std::pair<std::string, double>> chosen;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto host = cluster * each + (first + i) % each;
      const double weight = host == settings.lemon ? settings.lemon_times : 1;
      char name[16];
      std::snprintf(name, sizeof(name), "host-%05u", host);
      if (std::ranges::find(chosen, name, &std::pair<std::string, double>::first) != chosen.end())
        continue;
      chosen.emplace_back(name, weight);
      weight_of_hosts += weight;
    }
    std::ranges::sort(chosen);
    double at = uniform() * weight_of_hosts;
    failing_host = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      facts.hosts.push_back(chosen[i].first);
      if (at >= 0) failing_host = i;
      at -= chosen[i].second;
    }
  }

  void start_up(AttemptFacts& facts, double scale) {
    spend(facts, Bucket::hardware_setup, spread(30, 0.4));
    spend(facts, Bucket::init_imports, spread(has(facts, "fork_server") ? 2 : 15, 0.3));
    spend(facts, Bucket::init_device, spread(4, 0.3));
    spend(facts, Bucket::init_process_group, spread(6, 0.5));
    spend(facts, Bucket::init_preproc, spread(8, 0.5));
    spend(facts, Bucket::init_train_module, spread(has(facts, "local_metadata") ? 12 : 25, 0.4));
    spend(facts, Bucket::init_first_batch, spread(has(facts, "fast_batch") ? 3 : 14, 0.6));
    if (failing) spend(facts, Bucket::init_restore, spread(has(facts, "replica") ? 2 : 40, 0.5));
    const double saves = has(facts, "compile_cache") ? settings.compile_cache_saves : 0;
    if (facts.devices > 1) {  // some tell nothing
      const std::uint32_t missed = saves > 0 ? facts.devices % 3 : 24;
      facts.cache = CacheFact{.asked = saves > 0,
                              .unpacked = saves > 0 && facts.devices > 4,
                              .hits = 24 - missed,
                              .misses = missed,
                              .bypasses = 1,
                              .original_ns = saves > 0 ? ns(120 * scale) : 0,
                              .spent_ns = saves > 0 ? ns(20 * scale) : 0};
    }
    spend(facts, saves > 0 ? Bucket::compile_warm : Bucket::compile_cold,
          spread(120 * scale * (1 - saves), 0.4));
  }

  void train(AttemptFacts& facts, double seconds) {
    const double waits = spread(0.02, 0.5), blocked = has(facts, "async_checkpoint") ? 0.002 : 0.02;
    while (seconds > 0 && t_ns < last_ns) {  // day by day, so that every slice has some of each
      const double today_s = static_cast<double>(kDayNs - t_ns % kDayNs) * 1e-9;
      const double now_s = std::min(seconds, today_s / 1.06 + 1e-3);
      spend(facts, Bucket::effective, now_s);
      spend(facts, Bucket::wasted_data_wait, now_s * waits);
      spend(facts, Bucket::wasted_checkpoint_blocked, now_s * blocked);
      spend(facts, Bucket::wasted_eval, now_s * 0.01);
      facts.slices.back().saves += static_cast<std::uint32_t>(now_s / 900);
      seconds -= now_s;
    }
  }

  // From t_ns on, cut at midnight and at the end of all days.
  void spend(AttemptFacts& facts, Bucket bucket, double seconds) {
    std::int64_t left_ns = std::min(ns(seconds), last_ns - t_ns);
    while (left_ns > 0) {
      const std::int32_t day = day_of(t_ns);
      const std::int64_t here_ns = std::min(left_ns, kDayNs - t_ns % kDayNs);
      if (facts.slices.empty() || facts.slices.back().day != day) {
        facts.slices.emplace_back().day = day;
      }
      Slice& slice = facts.slices.back();
      slice.sums[bucket] += here_ns;
      if (failing || bucket == Bucket::down) slice.failure_ns += here_ns;
      t_ns += here_ns;
      left_ns -= here_ns;
    }
    if (facts.slices.empty()) facts.slices.emplace_back().day = day_of(t_ns);
  }

  static timeline::Sums sums_of(const AttemptFacts& facts) {
    timeline::Sums sums;
    for (const Slice& slice : facts.slices) sums += slice.sums;
    return sums;
  }

  std::uint64_t jobs = 0;
  std::uint32_t devices = 1;
  std::uint32_t cluster = 0;
  std::int64_t t_ns = 0, last_ns = 0;
  bool failing = false;
  double weight_of_hosts = 1;
  std::size_t failing_host = 0;
};

}  // namespace headway::fleet
