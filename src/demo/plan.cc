#include "demo/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string_view>

#include "headway/headway.h"

namespace headway::demo {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

struct Family {
  std::string_view name, team, hardware, cluster;
  std::uint32_t ranks;
  double weight;            // of the fleet's jobs
  double compile_s, hours;  // a usual one
  double data_wait;         // share of a step
  double fails_per_day;
};
constexpr std::array<Family, 5> kFamilies = {{
    {"dlrm-ctr", "ads", "h100", "east", 8, 0.30, 620, 6, 0.04, 1.2},
    {"dlrm-cvr", "ads", "h100", "west", 8, 0.20, 540, 5, 0.05, 1.0},
    {"ranker-v4", "feed", "a100", "east", 4, 0.25, 260, 6, 0.03, 0.6},
    {"llm-7b", "language", "h100", "west", 8, 0.10, 900, 9, 0.09, 2.6},
    {"detector", "vision", "a100", "west", 2, 0.15, 150, 4, 0.12, 0.5},
}};
constexpr std::size_t kGrowing = 3;  // the family of the mix shift

struct Fault {
  int origin;
  std::string_view category, reason;
  double weight;
};
constexpr std::array<Fault, 8> kFaults = {{
    {HW_ORIGIN_INFRA, "gpu_ecc", "gpu_ecc: NVRM: Xid (PCI:0000:3b:00): 95, uncontained ECC error",
     3},
    {HW_ORIGIN_INFRA, "gpu_lost", "gpu_lost: NVRM: Xid 79, GPU has fallen off the bus", 2},
    {HW_ORIGIN_INFRA, "collective_timeout",
     "collective_timeout: Watchdog caught collective operation timeout: ALLREDUCE ran for 600000 "
     "ms",
     2},
    {HW_ORIGIN_INFRA, "host_oom", "host_oom: Out of memory: Killed process (python)", 2},
    {HW_ORIGIN_INFRA, "nic_error", "nic_error: mlx5_0: Port 1 link down", 1},
    {HW_ORIGIN_UNKNOWN, "unknown", "", 1},
    {HW_ORIGIN_USER, "gpu_oom", "gpu_oom: torch.OutOfMemoryError: tried to allocate 2.00 GiB", 1.5},
    {HW_ORIGIN_USER, "value_error", "value_error: ValueError: expected 64 features, got 63", 1},
}};

class Planner {
 public:
  Planner(std::uint64_t seed, std::int64_t now_ns) : random_(seed), now_ns_(now_ns) {}

  PlannedJob job(int day, int number) {
    const Family& family = kFamilies[pick_family(day)];
    PlannedJob job;
    job.seed = random_();
    job.submitted_ns = day_begin_ns(now_ns_, day) +
                       static_cast<std::int64_t>(uniform() * static_cast<double>(kDay));
    job.name = fmt::format("{}-{:03}", family.name, number);
    job.ranks = uniform() < 0.3 ? std::max(1u, family.ranks / 2) : family.ranks;
    for (std::uint32_t rank = 0; rank < job.ranks; ++rank) {
      if (rank % 4 == 0 || job.hosts.empty()) {
        job.hosts.push_back(fmt::format("gpu-{:03}", random_() % 48));
      } else {
        job.hosts.push_back(job.hosts.back());
      }
    }
    describe(job, family, day);
    time_it(job, family);
    end_it(job, family, day);
    if (job.ranks > 2 && uniform() < 0.1) job.slow_rank = random_() % job.ranks;
    return job;
  }

  // One that has run for hours and goes on, of more ranks than fit on a screen.
  PlannedJob large() {
    constexpr Family family = {"llm-70b", "language", "h100", "west", kLargeRanks,
                               0,         1400,       14,     0.02,   0};
    PlannedJob job;
    job.seed = random_();
    job.submitted_ns = now_ns_ - 8 * 3600 * kSecond;
    job.name = kLargeJob;
    job.ranks = family.ranks;
    for (std::uint32_t rank = 0; rank < job.ranks; ++rank) {
      job.hosts.push_back(fmt::format("gpu-{:03}", 100 + rank / 8));
    }
    describe(job, family, kDays - 1);
    time_it(job, family);
    job.step_ns = 60 * kSecond;
    job.steps = 14 * 60;
    job.save_every = 15;
    job.slow_rank = kLargeSlowRank;
    PlannedEnd end;
    end.after_ns = 5 * 3600 * kSecond;
    end.origin = HW_ORIGIN_INFRA;
    end.category = kFaults[2].category;
    end.reason = kFaults[2].reason;
    end.rank = kLargeSlowRank;
    job.ends.push_back(std::move(end));
    return job;
  }

 private:
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * 3.141592653589793 * uniform());
  }
  // About `seconds`, give or take `spread` of it.
  std::int64_t around(double seconds, double spread) {
    return static_cast<std::int64_t>(seconds * std::exp(spread * normal()) *
                                     static_cast<double>(kSecond));
  }

  std::size_t pick_family(int day) {
    double total = 0;
    const auto weight = [&](std::size_t i) {
      return kFamilies[i].weight * (i == kGrowing && day >= kMixShiftDay ? 3.5 : 1);
    };
    for (std::size_t i = 0; i < kFamilies.size(); ++i) total += weight(i);
    double left = uniform() * total;
    for (std::size_t i = 0; i < kFamilies.size(); ++i) {
      left -= weight(i);
      if (left < 0) return i;
    }
    return kFamilies.size() - 1;
  }

  // Caches come to one family after the other, two days each, and to all of it.
  static bool has_cache(const Family& family, int day) {
    const auto found = std::ranges::find(kFamilies, family.name, &Family::name);
    return day >= kCachesFromDay + 4 * static_cast<int>(found - kFamilies.begin());
  }
  static bool has_new_torch(int day) { return day >= kRegressionDay; }

  void describe(PlannedJob& job, const Family& family, int day) {
    const bool cached = has_cache(family, day);
    job.warm = cached && uniform() < 0.85;
    new_torch_ = has_new_torch(day);
    job.attributes = {{"family", std::string(family.name)},
                      {"team", std::string(family.team)},
                      {"cluster", std::string(family.cluster)},
                      {"hardware", std::string(family.hardware)},
                      {"priority", uniform() < 0.2   ? "high"
                                   : uniform() < 0.8 ? "normal"
                                                     : "low"},
                      {"torch", new_torch_ ? "2.13.1" : "2.13.0"},
                      {"revision", fmt::format("r{}", 400 + (day + 3) / 6)},
                      {"devices", fmt::to_string(job.ranks * (job.ranks == kLargeRanks ? 1 : 8))},
                      {"script", fmt::format("train_{}.py", family.name)}};
    if (cached) job.attributes.emplace_back("lever.compile_cache", "1");
    if (day % 2 == 0 || day > 60) job.attributes.emplace_back("lever.replica", "1");
  }

  void time_it(PlannedJob& job, const Family& family) {
    job.queued_ns = around(240, 1.0);
    job.scheduling_ns = around(20, 0.3);
    job.hardware_setup_ns = around(95, 0.2);
    for (const double seconds : {14.0, 4.0, 18.0, 22.0, 30.0, 6.0, 5.0, 25.0}) {
      job.stages_ns.push_back(around(seconds, 0.1));
    }
    job.restore_ns = around(12, 0.2);
    double compile_s = family.compile_s * (job.warm ? 0.18 : 1);
    if (new_torch_ && family.name == kRegressedFamily) compile_s *= 2.2;
    job.compile_ns = around(compile_s, 0.1);
    job.step_ns = around(150, 0.1);
    job.steps = std::max(20, static_cast<int>(family.hours * 3600 * std::exp(0.4 * normal()) /
                                              (static_cast<double>(job.step_ns) / 1e9)));
    job.save_every = 6;
    job.save_ns = around(has_lever(job, "lever.replica") ? 2 : 16, 0.2);
    job.waits_share = family.data_wait * std::exp(0.3 * normal());
    job.publish_ns = uniform() < 0.4 ? around(300, 0.3) : 0;
  }

  static bool has_lever(const PlannedJob& job, std::string_view name) {
    return std::ranges::any_of(job.attributes,
                               [&](const auto& each) { return each.first == name; });
  }

  void end_it(PlannedJob& job, const Family& family, int day) {
    const double hours = static_cast<double>(job.steps) * static_cast<double>(job.step_ns) / 3.6e12;
    double per_day = family.fails_per_day;
    const auto lemon = std::ranges::find(job.hosts, kLemonHost);
    if (lemon != job.hosts.end()) per_day += 6;
    double at_hours = 0;
    constexpr std::size_t ends_max = 8;
    const bool wave = day >= kPreemptionsDay && day < kPreemptionsDay + kPreemptionsDays &&
                      family.cluster == "east";
    const double preempted_per_day = wave ? 9 : 0.15;
    while (job.ends.size() < ends_max) {
      at_hours += -std::log(1 - uniform()) * 24 / (per_day + preempted_per_day);
      if (at_hours >= hours) return;
      PlannedEnd end;
      end.after_ns = static_cast<std::int64_t>(at_hours * 3.6e12);
      if (uniform() * (per_day + preempted_per_day) < preempted_per_day) {
        end.origin = HW_ORIGIN_PREEMPTION;
        end.category = "preempted";
        end.reason = "preempted: slurmstepd: JOB CANCELLED DUE TO PREEMPTION";
      } else {
        choose(end, job, lemon != job.hosts.end() && uniform() < 6 / per_day);
      }
      job.ends.push_back(end);
    }
  }

  void choose(PlannedEnd& end, const PlannedJob& job, bool is_lemon) {
    double total = 0;
    for (const Fault& fault : kFaults) total += fault.weight;
    double left = is_lemon ? 0 : uniform() * total;
    const Fault* chosen = &kFaults.front();
    for (const Fault& fault : kFaults) {
      chosen = &fault;
      left -= fault.weight;
      if (left < 0) break;
    }
    end.origin = chosen->origin;
    end.category = chosen->category;
    end.reason = chosen->reason;
    end.rank = static_cast<std::uint32_t>(random_() % job.ranks);
    if (is_lemon) {
      end.rank =
          static_cast<std::uint32_t>(std::ranges::find(job.hosts, kLemonHost) - job.hosts.begin());
    }
  }

  std::mt19937_64 random_;
  const std::int64_t now_ns_;
  bool new_torch_ = false;
};

}  // namespace

std::int64_t day_begin_ns(std::int64_t now_ns, int day) {
  return (now_ns / kDay - kDays + 1 + day) * kDay;
}

std::vector<PlannedJob> plan_fleet(std::uint64_t seed, std::int64_t now_ns, int jobs_per_day) {
  Planner planner(seed, now_ns);
  std::vector<PlannedJob> out;
  int number = 0;
  for (int day = 0; day < kDays; ++day) {
    for (int i = 0; i < jobs_per_day; ++i) {
      PlannedJob job = planner.job(day, ++number);
      if (job.submitted_ns < now_ns) out.push_back(std::move(job));
    }
  }
  out.push_back(planner.large());
  std::ranges::sort(out, {}, &PlannedJob::submitted_ns);
  return out;
}

}  // namespace headway::demo
