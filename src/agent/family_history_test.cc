#include "agent/family_history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "base/temp_dir.h"

namespace headway::agent {
namespace {

// A record in event lines: each attempt trains for 100 s and is killed, but for the last one's end.
std::string record(const std::string& job, const std::string& attr, int attempts, bool ends_well) {
  std::string text;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    const auto add = [&, attempt](int t, const std::string& rest) {
      text += fmt::format(R"({{"job":"{}","attempt":{},"t":{},{}}})"
                          "\n",
                          job, attempt, 1000 * attempt + t, rest);
    };
    const bool well = ends_well && attempt == attempts;
    add(0, fmt::format(R"("rank":"agent","type":"attr",{})", attr));
    add(0, R"("rank":"agent","type":"mark","name":"launcher_start")");
    for (int n = 0; n < 11; ++n) {
      add(10 * n + 1, fmt::format(R"("type":"step","step":{})", 11 * attempt + n));
      add(10 * n + 10, fmt::format(R"("type":"step_end","step":{})", 11 * attempt + n));
    }
    const std::string how = well ? R"("exit_code":0)" : R"("signal":9,"origin":"infra")";
    if (!well) add(111, fmt::format(R"("rank":"agent","type":"mark","name":"failure",{})", how));
    add(111, fmt::format(R"("rank":"agent","type":"mark","name":"exit",{})", how));
  }
  return text;
}

class FamilyHistoryTest : public testing::Test {
 protected:
  void write(const std::string& job, const std::string& attr, int attempts, bool ends_well) {
    dir_.write(job + "/events.jsonl", record(job, attr, attempts, ends_well));
  }
  Environment told(const std::string& family, std::uint64_t first_attempt = 1) {
    FamilyHistory history;
    history.start(dir_.path(), "own", first_attempt, family);
    Environment environment;
    do {  // it is bounded, and this test waits for as long as it takes
      history.add_to(environment);
    } while (environment.empty() && ++looks_ < looks_max_);
    return environment;
  }
  base::TempDir dir_;
  int looks_ = 0, looks_max_ = 1'000'000;
};

constexpr const char* kTables = R"("key":"family","value":"tables")";

TEST_F(FamilyHistoryTest, AddsUpTheJobsOfTheFamilyButNotItself) {
  write("a", kTables, 3, true);
  write("b", R"("key":"script","value":"jobs/tables")", 2, true);
  write("c", R"("key":"family","value":"other")", 9, false);
  write("own", kTables, 5, false);
  const std::string said = told("tables").at(std::string(kFamilyVariable));
  double process = 0, node = 0, zone = 0, seconds = 0;
  ASSERT_EQ(std::sscanf(said.c_str(), "%lf %lf %lf %lf", &process, &node, &zone, &seconds), 4);
  EXPECT_EQ(process, 3) << "two of a, one of b";
  EXPECT_EQ(node + zone, 0);
  EXPECT_NEAR(seconds, 5 * 100, 60) << said;
}

TEST_F(FamilyHistoryTest, TellsHowTheJobsLastAttemptEnded) {
  write("own", kTables, 2, true);
  EXPECT_EQ(told("", 5).at(std::string(kLastEndVariable)), "orderly");
}

TEST_F(FamilyHistoryTest, AttemptsOfThisRunAreNotOver) {
  write("own", kTables, 2, true);
  EXPECT_EQ(told("", 2).at(std::string(kLastEndVariable)), "cut off") << "the first of the two";
}

TEST_F(FamilyHistoryTest, WhatThisRunHasSeenItselfGoesFirst) {
  write("own", kTables, 1, true);
  FamilyHistory history;
  history.start(dir_.path(), "own", 5, "");
  history.ended(true);
  Environment environment;
  history.add_to(environment);
  EXPECT_EQ(environment.at(std::string(kLastEndVariable)), "cut off");
}

TEST_F(FamilyHistoryTest, WhatCannotBeReadIsNotThere) {
  dir_.write("bad/events.jsonl", "{]\n");
  write("a", kTables, 2, false);
  write("own", kTables, 1, true);
  const Environment environment = told("tables", 5);
  EXPECT_TRUE(environment.at(std::string(kFamilyVariable)).starts_with("2 0 0 "));
}

TEST(FamilyOf, IsNamedOrTheScripts) {
  RunOptions options;
  options.kind = CommandKind::script;
  options.command = {"jobs/train.py"};
  EXPECT_EQ(family_of(options), "train.py");
  options.attrs = {{"family", "ctr"}};
  EXPECT_EQ(family_of(options), "ctr");
  options.attrs.clear();
  options.kind = CommandKind::program;
  EXPECT_EQ(family_of(options), "");
}

}  // namespace
}  // namespace headway::agent
