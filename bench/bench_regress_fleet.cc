// Regression detection as a whole, as `headway serve` runs it: its options, its question, asked
// daily with what it found before, on generated fleets. How many of the changes that were put in
// are told within three days, and what is told that was not put in. Prints JSON lines. usage:
// bench_regress_fleet recall all|NAME,NAME SEED… | speed ATTEMPTS
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "collector/watcher.h"
#include "regress/test_fleet.h"
#include "regress/watch.h"

namespace {

using namespace headway;
using regress::Component;
using regress::FleetModel;
using regress::Kind;
using timeline::Bucket;

constexpr std::int32_t kLearnDays = 45, kAskedDays = 15;
constexpr std::size_t kStrata = 8, kChanges = 8;  // one in each
constexpr double kPerDay = 222;                   // of which 200 are starts, the others recoveries

// Those that every start or every loop has: 200 observations a day, or a few more.
const std::array kComponents = {
    Component{Kind::start, Bucket::hardware_setup, {}},
    Component{Kind::start, Bucket::init_imports, {}},
    Component{Kind::start, Bucket::init_process_group, {}},
    Component{Kind::start, Bucket::init_train_module, {}},
    Component{Kind::start, Bucket::init_first_batch, {}},
    Component{Kind::loop, Bucket::wasted_data_wait, {}},
    Component{Kind::loop, Bucket::wasted_checkpoint_blocked, {}},
    Component{Kind::loop, Bucket::wasted_eval, {}},
};

struct Scenario {
  std::string name;
  double effect = 0;
  bool mix = false, wave = false;
  double day_noise = 0, weekend = 0;
  double per_day = kPerDay;
};

std::vector<Scenario> scenarios() {
  std::vector<Scenario> out = {{"nothing"},  {"mix"},      {"wave"},
                               {"restless"}, {"weekends"}, {"sparse"}};
  out[1].mix = true;
  out[2].wave = true;
  out[3].day_noise = 0.01;
  out[4].weekend = 0.03;
  out[5].per_day = 8;
  for (const int pct : {1, 2, 3, 5, 10}) out.push_back({fmt::format("rise_{}", pct), pct / 100.0});
  return out;
}

FleetModel model_of(const Scenario& scenario, std::uint64_t seed) {
  FleetModel model;
  model.seed = seed;
  model.strata = kStrata;
  model.attempts_per_day = scenario.per_day;
  model.day_noise = scenario.day_noise;
  model.weekend = scenario.weekend;
  const std::int32_t asked = model.first_day + kLearnDays;
  if (scenario.mix) {
    model.mix_day = asked + 2;
    model.slow_cluster = 1.3;
  }
  if (scenario.wave) {
    model.wave_day = asked + 2;
    model.wave_until_day = asked + 8;
  }
  if (scenario.effect <= 0) return model;
  std::mt19937_64 random(seed * 77 + 5);
  std::vector<Component> left(kComponents.begin(), kComponents.end());
  for (std::size_t i = 0; i < kChanges; ++i) {
    const std::size_t pick = random() % left.size();
    const auto day = asked + 1 + static_cast<std::int32_t>(random() % (kAskedDays - 4));
    model.changes.push_back({i, left[pick], day, 1 + scenario.effect});
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  return model;
}

struct Tally {
  std::size_t put_in = 0, found_3 = 0, found = 0, false_alarms = 0, alarms = 0, explained = 0;
  double series_days = 0;
};

class Trial {
 public:
  explicit Trial(const FleetModel& model)
      : model_(model), fleet_(model), found_(model.changes.size()) {}

  Tally run() {
    for (std::int32_t day = 0; day < kLearnDays; ++day) fleet_.add_day(facts_);
    for (std::int32_t day = 0; day < kAskedDays; ++day) ask();
    tally_.put_in = model_.changes.size();
    for (const auto& day : found_) {
      if (day >= 0) ++tally_.found;
      if (day >= 0 && day < 3) ++tally_.found_3;
    }
    return tally_;
  }

 private:
  void ask() {
    fleet_.add_day(facts_);
    // The newest day is over. Whatever is there of the next one does not count (Watch tests).
    const regress::Findings findings = regress::watch(facts_, options_, fleet_.now_ns() + 1);
    tally_.series_days += static_cast<double>(findings.series);
    tally_.explained += findings.explained.size();
    options_.known.clear();
    for (const regress::Regression& each : findings.regressions) {
      const bool open = each.verdict == regress::Verdict::open;
      if (open) options_.known.push_back(regress::known_of(each));
      const bool mine = match(each, open);
      if (!told_.insert(each.key).second) continue;
      ++tally_.alarms;
      if (mine) continue;
      ++tally_.false_alarms;
      std::fprintf(stderr, "   false: seed %llu %s q=%.3g %+.2f%%\n",
                   static_cast<unsigned long long>(model_.seed), each.key.c_str(), each.q_value,
                   each.change_pct);
    }
  }

  bool match(const regress::Regression& regression, bool open) {
    bool any = false;
    for (std::size_t i = 0; i < model_.changes.size(); ++i) {
      const regress::Injected& change = model_.changes[i];
      const std::string member =
          regress::component_name(change.component) + "|" + fleet_.stratum_key(change.stratum);
      const bool near = std::abs(regression.began_day - change.day) <= 3;
      if (!near || !std::ranges::count(regression.members, member)) continue;
      any = true;
      if (open && found_[i].value < 0) found_[i].value = fleet_.next_day() - 1 - change.day;
    }
    return any;
  }

  struct Found {
    std::int32_t value = -1;
    operator std::int32_t() const { return value; }
  };
  const FleetModel& model_;
  regress::TestFleet fleet_;
  std::vector<fleet::AttemptFacts> facts_;
  regress::WatchOptions options_ = collector::WatcherOptions().watch;  // what ships
  std::vector<Found> found_;                                           // days after the change
  std::set<std::string> told_;
  Tally tally_;
};

void measure_recall(const std::string& names, std::uint64_t seed) {
  for (const Scenario& scenario : scenarios()) {
    if (names != "all" && ("," + names + ",").find("," + scenario.name + ",") == std::string::npos)
      continue;
    const FleetModel model = model_of(scenario, seed);
    const Tally tally = Trial(model).run();
    std::printf(
        "{\"scenario\":\"%s\",\"seed\":%llu,\"put_in\":%zu,\"found_3\":%zu,\"found\":%zu,"
        "\"alarms\":%zu,\"false\":%zu,\"explained\":%zu,\"series_days\":%.0f}\n",
        scenario.name.c_str(), static_cast<unsigned long long>(seed), tally.put_in, tally.found_3,
        tally.found, tally.alarms, tally.false_alarms, tally.explained, tally.series_days);
    std::fflush(stdout);
  }
}

double processor_s() {
  timespec now{};
  HW_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// An incident: every stage of every stratum is slower at once, and has to be looked at closely.
void measure_speed(std::size_t attempts, const char* name, bool incident) {
  constexpr std::int32_t days = 90;
  FleetModel model;
  model.strata = 50;
  model.attempts_per_day = static_cast<double>(attempts) / days / static_cast<double>(model.strata);
  for (std::size_t stratum = 0; stratum < (incident ? model.strata : 1); ++stratum) {
    for (const Component& component : kComponents) {
      model.changes.push_back({stratum, component, model.first_day + days - 5, 1.1});
    }
  }
  regress::TestFleet fleet(model);
  std::vector<fleet::AttemptFacts> facts;
  facts.reserve(attempts + attempts / 50);
  for (std::int32_t day = 0; day < days; ++day) fleet.add_day(facts);
  regress::WatchOptions options = collector::WatcherOptions().watch;
  for (const std::int32_t window : {60, 90}) {
    options.series.days = window;
    const double begin_s = processor_s();
    const regress::Findings findings = regress::watch(facts, options, fleet.now_ns() + 1);
    const double took_s = processor_s() - begin_s;
    rusage usage{};
    HW_CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    std::printf(
        "{\"fleet\":\"%s\",\"attempts\":%zu,\"days\":%d,\"watch_s\":%.3f,\"series\":%zu,"
        "\"found\":%zu,\"rss_mb\":%.0f}\n",
        name, facts.size(), window, took_s, findings.series, findings.regressions.size(),
        static_cast<double>(usage.ru_maxrss) / 1024);
  }
}

}  // namespace

int main(int argc, char** argv) {
  HW_CHECK(argc >= 3);
  if (std::string(argv[1]) == "speed") {
    measure_speed(static_cast<std::size_t>(std::atoll(argv[2])), "calm", false);
    measure_speed(static_cast<std::size_t>(std::atoll(argv[2])), "incident", true);
    return 0;
  }
  for (int i = 3; i < argc; ++i) {
    measure_recall(argv[2], static_cast<std::uint64_t>(std::atoll(argv[i])));
  }
  return 0;
}
