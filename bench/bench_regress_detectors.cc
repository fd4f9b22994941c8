// Which detector of a change of level? Headway's and those that were weighed against it, on the
// same generated series, over several seeds. Every threshold is calibrated to the same rate of
// false alarms on series without change, and then judged on others. Prints JSON lines. usage:
// bench_regress_detectors SERIES SEED… [--write FILE]
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "regress/weigh.h"

namespace {

using namespace headway::bench;

constexpr double false_per_1000_aim = 0.5;  // the limit is 1: what is drawn again differs

const std::vector<Scenario> kScenarios = {
    {"calm"},
    {"days differ by 1%", 0, 0.01},
    {"weekends +3%", 0, 0, 0.03},
    {"2% outliers", 0, 0, 0, 0.02},
    {"1 of 5 days missing", 0, 0, 0, 0, 0.2},
    {"+1%", 0.01},
    {"+2%", 0.02},
    {"+3%", 0.03},
    {"+5%", 0.05},
    {"+10%", 0.10},
    {"+2%, 2% outliers", 0.02, 0, 0, 0.02},
    {"+5%, days differ by 1%", 0.05, 0.01},
};

std::vector<headway::regress::Series> series_of(const Scenario& scenario, std::size_t count,
                                                std::uint64_t seed) {
  std::vector<headway::regress::Series> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(generate(scenario, seed * 1'000'003 + i));
  return out;
}

struct Judged {
  std::string name;
  std::vector<Scores> calm;  // one, or those that vote
  double threshold = 0;
};

void print(const Judged& judged, const Scenario& scenario, const Scores& scores,
           std::uint64_t seed) {
  std::printf("{\"detector\":\"%s\",\"scenario\":\"%s\",\"seed\":%llu,\"threshold\":%.4g",
              judged.name.c_str(), scenario.name.c_str(), static_cast<unsigned long long>(seed),
              judged.threshold);
  if (scenario.effect > 0) {
    for (std::size_t within = 1; within <= 3; ++within) {
      std::printf(",\"recall_%zu\":%.4f", within, recall(scores, judged.threshold, within));
    }
  } else {
    std::printf(",\"false_per_1000\":%.4f", false_per_1000(scores, judged.threshold));
  }
  std::printf("}\n");
  std::fflush(stdout);
}

void weigh(std::size_t count, std::uint64_t seed, std::FILE* file) {
  const auto all = detectors();
  // Learnt from series that nothing is judged on.
  const auto calm = series_of(kScenarios.front(), 3 * count, seed + 500);
  std::vector<Judged> judged;
  std::vector<Scores> voters;
  for (const Detector& detector : all) {
    Scores scores = scores_of(detector, calm);
    judged.push_back({detector.name, {}, calibrate(scores, false_per_1000_aim)});
    if (detector.name != "Page's CUSUM") voters.push_back(std::move(scores));
  }
  Judged two{"two of three", voters, 0};
  two.threshold = calibrate(vote(voters, voters), false_per_1000_aim);
  for (const Scenario& scenario : kScenarios) {
    const auto series = series_of(scenario, count, seed);
    std::vector<Scores> votes;
    for (std::size_t d = 0; d < all.size(); ++d) {
      Scores scores = scores_of(all[d], series);
      print(judged[d], scenario, scores, seed);
      if (all[d].name != "Page's CUSUM") votes.push_back(std::move(scores));
    }
    print(two, scenario, vote(voters, votes), seed);
    if (file != nullptr) write_series(file, scenario, series, seed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  HW_CHECK(argc >= 3);
  const auto count = static_cast<std::size_t>(std::atoi(argv[1]));
  HW_CHECK(count > 0);
  std::FILE* file = nullptr;
  std::vector<std::uint64_t> seeds;
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "--write") {
      HW_CHECK(i + 1 < argc);
      file = std::fopen(argv[++i], "w");
      HW_CHECK(file != nullptr);
    } else {
      seeds.push_back(static_cast<std::uint64_t>(std::atoll(argv[i])));
    }
  }
  for (const std::uint64_t seed : seeds) weigh(count, seed, file);
  if (file != nullptr) HW_CHECK(std::fclose(file) == 0);
  return 0;
}
