// What a person and a program read, byte by byte, for the inputs in tests/golden. The arithmetic
// behind each is in tests/golden/README.md. HEADWAY_UPDATE_GOLDEN=1 rewrites the expected files;
// read the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/source_path.h"
#include "cli/report_against.h"
#include "cli/report_text.h"
#include "cli/report_view.h"
#include "interchange/job_input.h"
#include "metrics/comparison.h"
#include "metrics/report.h"

namespace headway::cli {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kEvening = 1'794'778'800 * kSecondNs;  // 2026-11-15T21:40:00Z

constexpr Style kPlain{.color = false, .unicode = true, .width = 100};
constexpr Style kAscii{.color = false, .unicode = false, .width = 80};
constexpr Style kColor{.color = true, .unicode = true, .width = 100};

struct Case {
  const char* input;
  const char* output;
  Style style = kPlain;
  std::optional<std::int64_t> now_ns = std::nullopt;
  const char* window = "";
};

const Case kCases[] = {
    {"normal", "normal"},
    {"normal", "normal.ascii", kAscii},
    {"normal", "normal.color", kColor},
    {"normal", "normal.window", kPlain, std::nullopt, "115..-13"},
    {"crash_replay", "crash_replay"},
    {"crash_loop", "crash_loop"},
    {"running", "running", kPlain, kEvening + 60 * kSecondNs},
    {"running", "unended"},
    {"requeue", "requeue"},
    {"straggler", "straggler"},
    {"eval_between", "eval_between.window", kPlain, std::nullopt, "1..2"},
};

std::string golden(const std::string& name) {
  return base::source_path("tests/golden/" + name);
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void compare(const std::string& name, const std::string& found) {
  const std::string path = golden(name);
  const char* update = std::getenv("HEADWAY_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << found;
    return;
  }
  EXPECT_EQ(read(path), found) << path << ": differs (HEADWAY_UPDATE_GOLDEN=1 rewrites it)";
}

View view_of(const Case& c) {
  auto streams = interchange::load_job(golden(std::string(c.input) + ".jsonl"), {});
  EXPECT_TRUE(streams.ok()) << streams.status().message();
  std::optional<WindowText> window;
  if (*c.window != '\0') {
    auto parsed = parse_window(c.window);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    window = *parsed;
  }
  auto view = view_job(*streams, window, c.now_ns, true);
  EXPECT_TRUE(view.ok()) << view.status().message();
  return *view;
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, TextAndJson) {
  const Case& c = GetParam();
  const View view = view_of(c);
  TextOptions options;
  options.style = c.style;
  options.state = view.state;
  options.windowed = view.windowed;
  options.job_wall_ns = view.job_wall_ns;
  options.saves = view.saves;
  compare(std::string(c.output) + ".txt", to_text(view.report, options));
  if (c.style.unicode && !c.style.color) {
    compare(std::string(c.output) + ".json", metrics::to_json(view.report) + "\n");
  }
}

// Whatever the golden files say: the parts add up, and the losses of all failures are Failure%.
TEST_P(Golden, AddsUp) {
  const Case& c = GetParam();
  const metrics::Report r = view_of(c).report;
  EXPECT_EQ(r.sums.total(), r.wall_ns);
  EXPECT_EQ(r.ett_pct + r.idleness_pct + r.failure_pct, 100.0);
  if (*c.window != '\0') return;
  std::int64_t lost = 0;
  for (const metrics::FailureRow& f : r.failure_rows) lost += f.lost_ns;
  EXPECT_EQ(lost, r.failure_ns);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.output;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Report, Golden, testing::ValuesIn(kCases), case_name);

// Two jobs of the same work, and two that are not; in colours, which say who is better.
TEST(GoldenAgainst, TextAndJson) {
  struct Pair {
    const char* job;
    const char* against;
    const char* output;
    Style style;
  };
  for (const Pair& p : {Pair{"requeue", "crash_replay", "against", kPlain},
                        Pair{"requeue", "crash_replay", "against.color", kColor},
                        Pair{"normal", "crash_loop", "against.unlike", kAscii}}) {
    const View job = view_of({p.job, ""}), against = view_of({p.against, ""});
    TextOptions left, right;
    left.style = right.style = p.style;
    left.state = job.state;
    right.state = against.state;
    const metrics::Comparison found = metrics::compare(job.report, against.report);
    compare(std::string(p.output) + ".txt",
            to_text(found, {job.report, left}, {against.report, right}));
    if (!p.style.color) compare(std::string(p.output) + ".json", metrics::to_json(found) + "\n");
  }
}

// Windows that touch sum to the whole: buckets, wall, queued, steps and failures.
TEST(GoldenWindows, TouchingOnesSumToTheWhole) {
  const char* const kCuts[][3] = {
      {"..50", "50..-30", "-30.."},
      {"..0.000000001", "0.000000001..200.123456789", "200.123456789.."},
      {"..1m1s", "1m1s..1m2s", "1m2s.."}};
  for (const char* input : {"normal", "crash_replay", "crash_loop", "requeue", "straggler"}) {
    const metrics::Report whole = view_of({input, ""}).report;
    for (const auto& cuts : kCuts) {
      timeline::Sums sums;
      std::int64_t wall = 0, queued = 0, between = 0, failure = 0;
      std::uint64_t steps = 0, failures = 0;
      for (const char* window : cuts) {
        auto streams = interchange::load_job(golden(std::string(input) + ".jsonl"), {});
        ASSERT_TRUE(streams.ok());
        auto view = view_job(*streams, parse_window(window).value(), std::nullopt);
        if (!view.ok()) continue;  // an empty one: this job is too short for these cuts
        sums += view->report.sums;
        wall += view->report.wall_ns;
        queued += view->report.queued_ns;
        between += view->report.between_runs_ns;
        failure += view->report.failure_ns;
        steps += view->report.steps;
        failures += view->report.failures + view->report.user_errors + view->report.preemptions;
      }
      EXPECT_EQ(wall, whole.wall_ns) << input << " " << cuts[1];
      EXPECT_EQ(queued, whole.queued_ns) << input << " " << cuts[1];
      EXPECT_EQ(between, whole.between_runs_ns) << input << " " << cuts[1];
      EXPECT_EQ(failure, whole.failure_ns) << input << " " << cuts[1];
      EXPECT_EQ(steps, whole.steps) << input << " " << cuts[1];
      EXPECT_EQ(failures, whole.failures + whole.user_errors + whole.preemptions) << input;
      EXPECT_EQ(sums, whole.sums) << input << " " << cuts[1];
    }
  }
}

}  // namespace
}  // namespace headway::cli
