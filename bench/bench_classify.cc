// Why did it fail? From a log's bytes in memory to the verdict: lines, prefixes, noise, progress
// and all built-in rules, on one core. Processor time, since a pass is long enough to be
// interrupted. Prints one JSON line. usage: bench_classify FILE [ROUNDS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "failure/classify.h"

namespace {

double processor_s() {
  timespec now{};
  HW_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace headway;
  constexpr std::size_t log_bytes_max = std::size_t{1} << 30;
  HW_CHECK(argc >= 2);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  auto text = base::read_file(argv[1], log_bytes_max);
  auto rules = failure::parse_rules(failure::builtin_rules_text(), "rules.toml");
  HW_CHECK(rounds > 0 && text.ok() && rules.ok());
  const double megabytes = static_cast<double>(text->size()) / 1e6;
  const failure::Classifier classifier(std::move(*rules));
  failure::Evidence evidence;
  evidence.exits = {{0, 1, 0}};
  evidence.logs.push_back({0, std::move(*text)});
  std::vector<double> speeds;
  failure::Verdict verdict;
  for (int round = 0; round < rounds; ++round) {
    const double begin_s = processor_s();
    verdict = classifier.classify(evidence);
    speeds.push_back(megabytes / (processor_s() - begin_s));
  }
  std::sort(speeds.begin(), speeds.end());
  std::printf("{\"mb_per_s\":%.3f,\"category\":\"%s\"}\n", speeds[speeds.size() / 2],
              verdict.category.c_str());
  return 0;
}
