// Jobs that only start, train a little and end, some on each of many days that are over: for tests
// of what is made of a fleet's history. Writes their batches to standard output, each after a line
// "JOB ATTEMPT BYTES".
// usage: told_starts SEED PREFIX FIRST_DAYS_AGO LAST_DAYS_AGO A_DAY COMPILE_SECONDS
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "demo/told_job.h"

namespace {

using namespace headway;

constexpr std::int64_t kSecond = 1'000'000'000, kDay = 86'400 * kSecond;

demo::PlannedJob plan(const std::string& name, std::int64_t submitted_ns, double compile_s,
                      std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const auto around = [&](double seconds) {
    return static_cast<std::int64_t>(seconds * std::exp(0.05 * normal(random)) * 1e9);
  };
  demo::PlannedJob out;
  out.name = name;
  out.attributes = {{"family", "lm"}, {"hardware", "h100"}, {"team", "a"}, {"devices", "8"}};
  out.hosts = {"gpu-001"};
  out.submitted_ns = submitted_ns;
  out.queued_ns = around(60);
  out.scheduling_ns = around(20);
  out.hardware_setup_ns = around(90);
  for (const double seconds : {14, 4, 18, 22, 30, 6, 5, 25}) {
    out.stages_ns.push_back(around(seconds));
  }
  out.compile_ns = around(compile_s);
  out.step_ns = around(60);
  out.steps = out.save_every = 12;
  out.save_ns = around(2);
  out.seed = random();
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  HW_CHECK(argc == 7);
  std::mt19937_64 random(static_cast<std::uint64_t>(std::atoll(argv[1])));
  const std::string prefix = argv[2];
  const int first = std::atoi(argv[3]), last = std::atoi(argv[4]), a_day = std::atoi(argv[5]);
  const double compile_s = std::atof(argv[6]);
  const std::int64_t now_ns = base::real_ns(), today = now_ns / kDay;
  for (int ago = first; ago >= last; --ago) {
    for (int i = 0; i < a_day; ++i) {
      const auto within = static_cast<std::int64_t>(random() % (20 * 3600)) * kSecond;
      const std::string name = fmt::format("{}-{}-{}", prefix, ago, i);
      const demo::ToldJob job =
          demo::tell(plan(name, (today - ago) * kDay + within, compile_s, random));
      for (const demo::ToldAttempt& attempt : job.attempts) {
        std::vector<std::size_t> sent;
        for (const auto& batch : demo::batches_until(attempt, sent, now_ns)) {
          fmt::print("{} {} {}\n", name, attempt.id, batch.size());
          HW_CHECK(std::fwrite(batch.data(), 1, batch.size(), stdout) == batch.size());
        }
      }
    }
  }
  return 0;
}
