#include "agent/environment.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace headway::agent {
namespace {

RankIdentity identity(int rank, int nproc) {
  RankIdentity id;
  id.local_rank = rank;
  id.nproc = nproc;
  id.restart_count = 1;
  id.restarts_max = 3;
  id.run_id = "job";
  id.place.world_size = nproc;
  id.place.master_port = 29500;
  id.error_file = "/e/error-1.json";
  return id;
}

Measurement measurement() {
  return Measurement{"/jobs", "job", 65537, "ab:1:2", 3'000'000'000, {"/p/headway/_hook", "/p"}};
}

TEST(ProcessEnvironment, IsTorchrunsContract) {
  const RankIdentity id = identity(1, 4);
  const Environment env = process_environment({}, &id, nullptr, true);
  const Environment want = {{"RANK", "1"},
                            {"LOCAL_RANK", "1"},
                            {"ROLE_RANK", "1"},
                            {"GROUP_RANK", "0"},
                            {"WORLD_SIZE", "4"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"ROLE_WORLD_SIZE", "4"},
                            {"GROUP_WORLD_SIZE", "1"},
                            {"ROLE_NAME", "default"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", "29500"},
                            {"TORCHELASTIC_RESTART_COUNT", "1"},
                            {"TORCHELASTIC_MAX_RESTARTS", "3"},
                            {"TORCHELASTIC_RUN_ID", "job"},
                            {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                            {"TORCHELASTIC_ERROR_FILE", "/e/error-1.json"},
                            {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                            {"OMP_NUM_THREADS", "1"},
                            {"PYTHONUNBUFFERED", "1"},
                            {"HEADWAY_DISABLE", "1"}};
  EXPECT_EQ(env, want);
}

TEST(ProcessEnvironment, TheFlightRecorderWritesIntoTheAttemptUnlessTheUserChose) {
  Environment env = {{"TORCH_FR_DUMP_TEMP_FILE", "/mine"}};
  keep_flight_recorder(env, "/jobs/j/1");
  EXPECT_EQ(env.at("TORCH_FR_DUMP_TEMP_FILE"), "/mine");
  EXPECT_EQ(env.at("TORCH_NCCL_DEBUG_INFO_TEMP_FILE"), "/jobs/j/1/flight-recorder-");
}

TEST(ProcessEnvironment, WhatRanksHaveInCommonIsNoIdentity) {
  const RankIdentity first = identity(0, 2);
  const RankIdentity second = identity(1, 2);
  const Measurement measured = measurement();
  EXPECT_EQ(without_identity(process_environment({}, &first, &measured, true)),
            without_identity(process_environment({}, &second, &measured, true)));
}

TEST(ProcessEnvironment, TheUsersOwnChoicesStay) {
  const RankIdentity id = identity(0, 2);
  const Environment base = {{"OMP_NUM_THREADS", "8"},
                            {"PYTHONUNBUFFERED", ""},
                            {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
                            {"PYTHONPATH", "/mine"}};
  const Measurement measured = measurement();
  const Environment env = process_environment(base, &id, &measured, true);
  EXPECT_EQ(env.at("OMP_NUM_THREADS"), "8");
  EXPECT_EQ(env.at("PYTHONUNBUFFERED"), "");
  EXPECT_EQ(env.at("TORCH_NCCL_ASYNC_ERROR_HANDLING"), "0");
  EXPECT_EQ(env.at("PYTHONPATH"), "/p/headway/_hook:/p:/mine");
}

TEST(ProcessEnvironment, ARankOfAnotherNode) {
  RankIdentity id = identity(1, 2);
  id.place = {2, 3, 4, 6, "10.0.0.1", 29500};
  const Environment env = process_environment({}, &id, nullptr, true);
  EXPECT_EQ(env.at("RANK"), "5");
  EXPECT_EQ(env.at("LOCAL_RANK"), "1");
  EXPECT_EQ(env.at("ROLE_RANK"), "5");
  EXPECT_EQ(env.at("GROUP_RANK"), "2");
  EXPECT_EQ(env.at("WORLD_SIZE"), "6");
  EXPECT_EQ(env.at("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(env.at("GROUP_WORLD_SIZE"), "3");
  EXPECT_EQ(env.at("MASTER_ADDR"), "10.0.0.1");
}

TEST(ProcessEnvironment, OneRankKeepsItsThreads) {
  const RankIdentity id = identity(0, 1);
  EXPECT_EQ(find_variable(process_environment({}, &id, nullptr, true), "OMP_NUM_THREADS"), nullptr);
}

TEST(ProcessEnvironment, AProgramIsOnlyMeasured) {
  const Measurement measured = measurement();
  const Environment base = {{"HEADWAY_RANK_PID", "77"}, {"HEADWAY_JOB", "outer"}};
  const Environment env = process_environment(base, nullptr, &measured, false);
  const Environment want = {{"HEADWAY_DIR", "/jobs"},         {"HEADWAY_JOB", "job"},
                            {"HEADWAY_ATTEMPT", "65537"},     {"HEADWAY_ANCHOR", "ab:1:2"},
                            {"HEADWAY_TSC_HZ", "3000000000"}, {"PYTHONPATH", "/p/headway/_hook:/p"},
                            {"HEADWAY_RESTARTS", "0"}};
  EXPECT_EQ(env, want) << "no rank, and nothing of the run around it";
}

TEST(ProcessEnvironment, SaysWhichRestartsTheAttemptStandsFor) {
  const Measurement measured = measurement();
  const RankIdentity id = identity(1, 4);
  const Environment rank = process_environment({}, &id, &measured, true);
  EXPECT_EQ(rank.at("HEADWAY_RESTARTS"), rank.at("TORCHELASTIC_RESTART_COUNT"));
  const Environment inside = {{"TORCHELASTIC_RESTART_COUNT", "4"}, {"HEADWAY_RESTARTS", "1"}};
  EXPECT_EQ(process_environment(inside, nullptr, &measured, false).at("HEADWAY_RESTARTS"), "4");
}

TEST(ReadEnvironment, TakesTheFirstOfTwoAndSkipsWhatIsNone) {
  const char* const list[] = {"A=1", "A=2", "broken", "=x", "B=", nullptr};
  EXPECT_EQ(read_environment(list), (Environment{{"A", "1"}, {"B", ""}}));
}

TEST(AutotunePins, ByTheWholePath) {
  Environment environment;
  use_autotune_pins(environment, "");
  EXPECT_TRUE(environment.empty());
  use_autotune_pins(environment, "/a/pins.py");
  EXPECT_EQ(environment["HEADWAY_AUTOTUNE_PINS"], "/a/pins.py");
  use_autotune_pins(environment, "pins.py");
  EXPECT_TRUE(environment["HEADWAY_AUTOTUNE_PINS"].starts_with('/'));
  EXPECT_TRUE(environment["HEADWAY_AUTOTUNE_PINS"].ends_with("/pins.py"));
}

TEST(AutotunePins, WhatCannotBeReadIsToldAndNotNamed) {
  const base::TempDir dir;
  const std::string there = dir.write("pins.py", "FORMAT = 1\n");
  Environment environment;
  EXPECT_TRUE(drop_unreadable_pins(environment).ok());
  environment["HEADWAY_AUTOTUNE_PINS"] = there;
  EXPECT_TRUE(drop_unreadable_pins(environment).ok());
  EXPECT_EQ(environment["HEADWAY_AUTOTUNE_PINS"], there);
  environment["HEADWAY_AUTOTUNE_PINS"] = "not/whole.py";
  EXPECT_TRUE(drop_unreadable_pins(environment).ok());
  EXPECT_EQ(environment["HEADWAY_AUTOTUNE_PINS"], "not/whole.py");
  for (const std::string& path : {there + ".not", dir.path()}) {
    environment["HEADWAY_AUTOTUNE_PINS"] = path;
    const base::Status status = drop_unreadable_pins(environment);
    EXPECT_TRUE(status.message().starts_with(path + ": ")) << status.message();
    EXPECT_TRUE(environment.empty());
  }
}

}  // namespace
}  // namespace headway::agent
