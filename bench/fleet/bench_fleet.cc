// Every question that can be asked of a fleet's table, over 90 days and 10⁴, 10⁵ and 10⁶ attempts
// made from a seed, and the same rows in SQLite, question by question in turns. Both are charged
// processor time of one core; numbers are medians. What the peer is spared says sqlite_peer.h.
//
//   fleet_query_ms_QUESTION_N      milliseconds for one answer
//   fleet_query_ms                 the slowest of them at 10⁶
//   fleet_answer_ms                by the clock on the wall, with its JSON: the slowest of some
//                                  roll-ups at 10⁶, those with many groups among them
//   fleet_query_growth             the most that ten times the attempts (10⁵ → 10⁶) cost, in times
//   fleet_query_growth_10k_to_1m   and a hundred times
//   fleet_bytes_per_attempt        of the process's memory for 10⁶ attempts; columns, names and all
//   fleet_upsert_us                an attempt that runs is told again, with a snapshot after every
//                                  100
//
// Roll-ups are asked by every dimension, some pairs, days, and days of a dimension, weighted by
// devices and (…_by_job) by jobs.
//
// Prints JSON rows. usage: bench_fleet [ATTEMPTS…]
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "collector/fleet_api.h"
#include "fleet/made_fleet.h"
#include "fleet/query.h"
#include "sqlite_peer.h"

namespace {

using namespace headway;
using namespace headway::fleet;

constexpr std::uint64_t kSeed = 20'261'118;
constexpr const char* kPeer = "SQLite 3 in memory, indexed, GROUP BY";

double processor_s() {
  timespec now{};
  HW_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  HW_CHECK(!values.empty());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double resident_bytes() {
  malloc_trim(0);
  long pages = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  HW_CHECK(file != nullptr && std::fscanf(file, "%ld %ld", &pages, &resident) == 2);
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void print_row(const std::string& name, const char* unit, double ours, const double* peer) {
  std::printf("{\"name\":\"%s\",\"unit\":\"%s\",\"ours\":%.6g,", name.c_str(), unit, ours);
  if (peer != nullptr) {
    std::printf("\"peer\":%.6g,\"peer_name\":\"%s\",", *peer, kPeer);
  } else {
    std::printf("\"peer\":null,\"peer_name\":null,");
  }
  std::printf("\"better\":\"lower\"}\n");
  std::fflush(stdout);
}

struct Question {
  std::string name;
  const char* peer;  // the peer's question
  std::function<double(const Snapshot&)> ask;
};

Selection all_days(const MadeFleet::Settings& made) {
  Selection selection;
  selection.from_day = made.first_day;
  selection.to_day = made.first_day + made.days;
  return selection;
}

// By what roll-ups are asked: every dimension, and some of the pairs, those of many groups among
// them. The peer is asked some of them.
struct Grouping {
  By by;
  const char* peer = nullptr;
};

std::vector<Grouping> groupings() {
  using D = Dimension;
  std::vector<Grouping> out = {{{}, "rollup"}, {{{}, true}, "rollup_day"}};
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto dimension = static_cast<D>(i);
    out.push_back({{{dimension}, false}, dimension == D::family ? "rollup_family" : nullptr});
  }
  out.push_back({{{D::family, D::team}, false}, "rollup_family_team"});
  out.push_back({{{D::size, D::priority}, false}});
  out.push_back({{{D::cluster, D::hardware}, false}});
  out.push_back({{{D::revision, D::config}, false}});
  out.push_back({{{D::cluster}, true}});
  out.push_back({{{D::family}, true}});
  out.push_back({{{D::family, D::team}, true}});
  return out;
}

std::string name_of(const By& by) {
  std::string out = "rollup";
  for (const Dimension each : by.dimensions) out += "_" + std::string(dimension_name(each));
  return by.day ? out + "_day" : out;
}

std::vector<Question> rollups(const Selection& all) {
  Selection by_job = all;
  by_job.weight = Weight::job;
  std::vector<Question> out;
  for (const Grouping& each : groupings()) {
    const auto ask = [by = each.by](const Selection& selection) {
      return [=](const Snapshot& s) { return roll_up(s, selection, by).total.device_hours; };
    };
    const std::string name = name_of(each.by);
    const bool family = each.by.dimensions == std::vector{Dimension::family} && !each.by.day;
    out.push_back({name, each.peer, ask(all)});
    out.push_back({name + "_by_job", family ? each.peer : nullptr, ask(by_job)});
  }
  return out;
}

std::vector<Question> questions(const MadeFleet::Settings& made) {
  const Selection all = all_days(made);
  Selection a = all, b = all;
  a.to_day = b.from_day = made.first_day + made.days / 2;
  const auto fall = [a, b](WaterfallMetric metric, WaterfallSplit split) {
    return [=](const Snapshot& s) { return *waterfall(s, metric, split, a, b).b.doubt.value; };
  };
  const auto line = [all](const char* metric, std::vector<Dimension> by) {
    return [=](const Snapshot& s) {
      return static_cast<double>(trend(s, all, *parse_metric(metric), by).series.size());
    };
  };
  using D = Dimension;
  using M = WaterfallMetric;
  using S = WaterfallSplit;
  std::vector<Question> out = rollups(all);
  const std::vector<Question> others = {
      {"trend_ett_family", "trend_ett_family", line("ett_pct", {D::family})},
      {"trend_start", "trend_start", line("time_to_start_s", {})},
      {"losses", "losses", [all](const Snapshot& s) { return *losses(s, all).ett_pct; }},
      {"failures", "failures",
       [all](const Snapshot& s) { return failures(s, all).device_hours_lost; }},
      {"hosts", "hosts",
       [all](const Snapshot& s) { return static_cast<double>(hosts(s, all).hosts.size()); }},
      {"waterfall_start_component", "waterfall_start", fall(M::time_to_start_s, S::component)},
      {"waterfall_start_lever", "waterfall_start", fall(M::time_to_start_s, S::lever)},
      {"waterfall_ett_component", "waterfall_ett", fall(M::ett_pct, S::component)},
      {"waterfall_ett_lever", "waterfall_ett", fall(M::ett_pct, S::lever)},
      {"catalogue", nullptr,
       [](const Snapshot& s) { return static_cast<double>(catalogue(s).attempts); }},
  };
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

// From a request to the text of its answer, as the collector makes it.
double slowest_answer_ms(const Snapshot& snapshot, const Selection& all) {
  double slowest_ms = 0;
  for (const char* by : {"family", "config", "revision,config", "family,day"}) {
    net::ServerRequest request;
    request.query = {{"from", day_text(all.from_day)}, {"to", day_text(all.to_day)}, {"by", by}};
    std::vector<double> taken_ms;
    std::size_t bytes = 0;
    for (int round = 0; round < 5; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      const auto answer = collector::fleet_answer(collector::Place::rollup, request, snapshot);
      const std::chrono::duration<double, std::milli> taken =
          std::chrono::steady_clock::now() - begin;
      HW_CHECK(answer.status == 200);
      bytes = answer.body.size();
      taken_ms.push_back(taken.count());
    }
    std::fprintf(stderr, "   rollup by %s as JSON: %.1f ms, %zu bytes\n", by, median(taken_ms),
                 bytes);
    slowest_ms = std::max(slowest_ms, median(taken_ms));
  }
  return slowest_ms;
}

struct Measured {
  double ours_ms = 0, peer_ms = 0;
};

double upsert_us(FleetTable& table, const std::vector<MadeJob>& running) {
  std::size_t count = 0;
  const double begin_s = processor_s();
  for (int round = 0; round < 20; ++round) {
    for (const MadeJob& job : running) {
      AttemptFacts facts = job.attempts.back();
      facts.end_ns += round;
      facts.slices.back().sums[timeline::Bucket::effective] += round + 1;
      HW_CHECK(table.upsert(job.name, facts));
      if (++count % 100 == 0) (void)table.snapshot();
    }
  }
  return (processor_s() - begin_s) / static_cast<double>(count) * 1e6;
}

std::map<std::string, Measured> measure(std::uint64_t attempts) {
  MadeFleet::Settings settings;
  settings.seed = kSeed;
  const double resident_before = resident_bytes();
  FleetTable table;
  {
    MadeFleet fleet(settings);
    while (table.attempts() < attempts) {
      const MadeJob job = fleet.next();
      table.replace_job(job.name, job.attempts);
    }
  }
  const double resident = resident_bytes() - resident_before;
  const auto count = static_cast<double>(table.attempts());
  bench::SqlitePeer peer;
  std::vector<MadeJob> running;
  {
    MadeFleet fleet(settings);  // the same again
    for (std::uint64_t told = 0, id = 0; told < table.attempts(); ++id) {
      MadeJob job = fleet.next();
      for (const AttemptFacts& facts : job.attempts) peer.add(static_cast<std::int64_t>(id), facts);
      told += job.attempts.size();
      const bool runs = job.attempts.back().ending == Ending::running;
      if (runs && running.size() < 1000) running.push_back(std::move(job));
    }
    peer.finish();
  }
  const auto snapshot = table.snapshot();
  const Selection all = all_days(settings);
  // The same work: both find the same device time.
  const double ours_hours = roll_up(*snapshot, all, {}).total.device_hours;
  const double peer_hours = peer.ask("losses", all.from_day, all.to_day) / 3.6e12;
  HW_CHECK(std::abs(ours_hours - peer_hours) < 1e-6 * ours_hours);

  std::map<std::string, Measured> out;
  for (const Question& question : questions(settings)) {
    const int rounds = question.peer == nullptr ? 1 : attempts > 200'000 ? 3 : 7;
    std::vector<double> ours, theirs;
    for (int round = 0; round < rounds; ++round) {
      for (int repeat = 0; repeat < 3; ++repeat) {
        const double begin_s = processor_s();
        HW_CHECK(question.ask(*snapshot) >= 0);
        ours.push_back((processor_s() - begin_s) * 1e3);
      }
      if (question.peer == nullptr) continue;
      const double begin_s = processor_s();
      HW_CHECK(peer.ask(question.peer, all.from_day, all.to_day) >= 0);
      theirs.push_back((processor_s() - begin_s) * 1e3);
    }
    Measured& measured = out[question.name];
    measured.ours_ms = median(ours);
    if (!theirs.empty()) measured.peer_ms = median(theirs);
    print_row("fleet_query_ms_" + question.name + "_" + std::to_string(attempts), "ms",
              measured.ours_ms, theirs.empty() ? nullptr : &measured.peer_ms);
  }
  if (attempts >= 1'000'000) {
    print_row("fleet_answer_ms", "ms", slowest_answer_ms(*snapshot, all), nullptr);
    const double theirs = static_cast<double>(peer.bytes()) / count;
    print_row("fleet_bytes_per_attempt", "bytes", resident / count, &theirs);
    std::fprintf(stderr, "   columns alone: %.0f bytes an attempt\n",
                 static_cast<double>(table.bytes()) / count);
  }
  if (!running.empty()) {
    print_row("fleet_upsert_us_" + std::to_string(attempts), "us", upsert_us(table, running),
              nullptr);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {10'000, 100'000, 1'000'000};
  std::fprintf(stderr, "   seed %llu\n", static_cast<unsigned long long>(kSeed));
  std::vector<std::map<std::string, Measured>> measured;
  for (const std::uint64_t size : sizes) measured.push_back(measure(size));
  const auto& last = measured.back();
  const auto slowest =
      std::ranges::max_element(last, {}, [](const auto& each) { return each.second.ours_ms; });
  std::fprintf(stderr, "   the slowest is %s\n", slowest->first.c_str());
  const double peer_ms = slowest->second.peer_ms;
  print_row("fleet_query_ms", "ms", slowest->second.ours_ms, peer_ms > 0 ? &peer_ms : nullptr);
  const auto print_growth = [&](const char* name, const std::map<std::string, Measured>& from) {
    double worst = 0;
    for (const auto& [question, each] : last) {
      worst = std::max(worst, each.ours_ms / from.at(question).ours_ms);
    }
    print_row(name, "times", worst, nullptr);
  };
  if (sizes.size() > 1) print_growth("fleet_query_growth", measured[sizes.size() - 2]);
  if (sizes.front() == 10'000 && sizes.back() == 1'000'000) {
    print_growth("fleet_query_growth_10k_to_1m", measured.front());
  }
  return 0;
}
