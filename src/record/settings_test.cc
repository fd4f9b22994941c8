#include "record/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace headway::record {
namespace {

// The environment with only these variables of ours, put back afterwards by the next one.
int resolve(const std::vector<std::pair<const char*, const char*>>& variables, Settings& settings) {
  for (const char* name : {"HEADWAY_DIR", "HEADWAY_JOB", "HEADWAY_ATTEMPT", "HEADWAY_RESTARTS",
                           "HEADWAY_JOURNAL_MAX_BYTES", "HEADWAY_DISABLE", "RANK", "LOCAL_RANK",
                           "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT", "XDG_STATE_HOME"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  settings = {};
  return resolve_settings(nullptr, settings);
}

TEST(Settings, UnderHeadwayRun) {
  Settings s;
  ASSERT_EQ(resolve({{"HEADWAY_DIR", "/r"},
                     {"HEADWAY_JOB", "j"},
                     {"HEADWAY_ATTEMPT", "65538"},
                     {"RANK", "12"},
                     {"LOCAL_RANK", "4"},
                     {"WORLD_SIZE", "16"},
                     {"HEADWAY_JOURNAL_MAX_BYTES", "1000000"}},
                    s),
            0);
  EXPECT_EQ(s.dir, "/r/j/65538");
  EXPECT_EQ(s.stem, "rank-00012");
  EXPECT_EQ(s.attempt, 65538u);
  EXPECT_EQ(s.local_rank, 4u);
  EXPECT_EQ(s.world_size, 16u);
  EXPECT_EQ(s.max_bytes, 1000000u);
  EXPECT_FALSE(s.host.empty());
}

TEST(Settings, ARestartThatALauncherInsideMadeIsAnAttemptOfItsOwn) {
  const auto attempt = [](const char* started, const char* counted, const char* restarts) {
    Settings s;
    EXPECT_EQ(resolve({{"HEADWAY_DIR", "/r"},
                       {"HEADWAY_JOB", "j"},
                       {"HEADWAY_ATTEMPT", started},
                       {"HEADWAY_RESTARTS", counted},
                       {"TORCHELASTIC_RESTART_COUNT", restarts}},
                      s),
              0);
    return s.attempt;
  };
  EXPECT_EQ(attempt("65537", "0", "2"), 65539u);
  EXPECT_EQ(attempt("65538", "1", "1"), 65538u) << "one that the agent itself counted";
  EXPECT_EQ(attempt("65538", "3", "1"), 65538u);
  EXPECT_EQ(attempt("65538", "x", "1"), 65538u);
  EXPECT_EQ(attempt("65538", "0", "99999999"), 131071u) << "never into the next allocation";
  EXPECT_EQ(attempt("2", "", "1"), 2u) << "not said what the attempt stands for";
}

TEST(Settings, AloneAProcessIsAJobOfItsOwn) {
  Settings s;
  ASSERT_EQ(resolve({{"HEADWAY_DIR", "/r"}}, s), 0);
  EXPECT_TRUE(s.job.starts_with("adhoc-2")) << s.job;
  EXPECT_TRUE(s.job.ends_with("-" + std::to_string(::getpid()))) << s.job;
  EXPECT_EQ(s.attempt, 1u);
  EXPECT_EQ(s.world_size, 1u);
  EXPECT_EQ(s.rank, 0u);
  EXPECT_EQ(s.max_bytes, journal_bytes_default);
  Settings again;
  ASSERT_EQ(resolve({{"HEADWAY_DIR", "/r"}}, again), 0);
  EXPECT_EQ(again.job, s.job);  // a second hw_init() of the process joins the first
}

TEST(Settings, RanksOfOneTorchrunAgree) {
  Settings s;
  ASSERT_EQ(resolve({{"RANK", "3"},
                     {"WORLD_SIZE", "4"},
                     {"HEADWAY_DIR", "/r"},
                     {"TORCHELASTIC_RESTART_COUNT", "2"}},
                    s),
            0);
  EXPECT_TRUE(s.job.ends_with("-" + std::to_string(::getppid()))) << s.job;
  EXPECT_EQ(s.attempt, 3u);
}

TEST(Settings, ANamedJobWithoutAttemptGetsANewOne) {
  Settings s;
  ASSERT_EQ(resolve({{"HEADWAY_JOB", "j"}, {"HEADWAY_DIR", "/r"}}, s), 0);
  EXPECT_EQ(s.attempt % 65536, 1u);
  EXPECT_GT(s.attempt / 65536, 1'600'000'000u);
}

TEST(Settings, RefusesNonsense) {
  Settings s;
  EXPECT_EQ(resolve({{"HEADWAY_JOB", "../x"}, {"HEADWAY_ATTEMPT", "1"}}, s), EINVAL);
  EXPECT_EQ(resolve({{"HEADWAY_JOB", "j"}, {"HEADWAY_ATTEMPT", "one"}}, s), EINVAL);
  EXPECT_EQ(resolve({{"RANK", "-1"}}, s), EINVAL);
  EXPECT_EQ(resolve({{"RANK", "3x"}}, s), EINVAL);
  EXPECT_EQ(resolve({{"HEADWAY_DISABLE", "1"}}, s), ECANCELED);
  EXPECT_EQ(resolve({{"HEADWAY_DISABLE", "0"}, {"HEADWAY_DIR", "/r"}}, s), 0);
  EXPECT_EQ(resolve({{"HEADWAY_JOURNAL_MAX_BYTES", "1"}, {"HEADWAY_DIR", "/r"}}, s), 0);
  EXPECT_EQ(s.max_bytes, journal_bytes_min);
}

TEST(Settings, TheLaunchersJournalBearsItsHost) {
  Settings s;
  hw_options o{};
  o.struct_size = sizeof(o);
  o.rank = HW_RANK_AGENT;
  o.job = "j";
  o.dir = "/d";
  o.host = "n/1";
  ASSERT_EQ(resolve_settings(&o, s), 0);
  EXPECT_EQ(s.stem, "agent-n_1");
  EXPECT_EQ(s.dir, "/d");
}

}  // namespace
}  // namespace headway::record
