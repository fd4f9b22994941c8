#include "agent/identity.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/job_path.h"

namespace headway::agent {
namespace {

std::tm some_time() {
  std::tm time{};
  time.tm_year = 126;
  time.tm_mon = 10;
  time.tm_mday = 15;
  time.tm_hour = 21;
  time.tm_min = 43;
  return time;
}

RunOptions options_for(CommandKind kind, std::vector<std::string> command) {
  RunOptions options;
  options.kind = kind;
  options.command = std::move(command);
  return options;
}

std::string name_of(const RunOptions& options) {
  return default_job_name(options, std::nullopt, some_time());
}

std::uint64_t place(std::vector<std::uint64_t> seen, std::optional<AllocationNote> note,
                    std::optional<SlurmInfo> slurm) {
  return place_invocation(seen, note, slurm).first.value();
}

TEST(DefaultJobName, IsTheScriptAndTheTime) {
  EXPECT_EQ(name_of(options_for(CommandKind::script, {"a/train.py", "x.py"})),
            "train-20261115-214300");
  EXPECT_EQ(name_of(options_for(CommandKind::module, {"pkg.sub.fit"})), "fit-20261115-214300");
  EXPECT_EQ(name_of(options_for(CommandKind::program, {"/usr/bin/sleep", "1"})),
            "sleep-20261115-214300");
  EXPECT_EQ(name_of(options_for(CommandKind::program, {"python3", "-u", "d/fit.py"})),
            "fit-20261115-214300");
}

TEST(DefaultJobName, IsAlwaysASafeName) {
  for (const char* script : {"-x .py", ".hidden", "/", "ü/ü.py", "a b\n.py"}) {
    const std::string name = name_of(options_for(CommandKind::script, {script}));
    EXPECT_TRUE(base::is_job_name(name)) << name;
  }
  const std::string name = name_of(options_for(CommandKind::script, {std::string(900, 'a')}));
  EXPECT_TRUE(base::is_job_name(name + "-1000")) << name;
}

TEST(DefaultJobName, UnderSlurmSurvivesARequeue) {
  const SlurmInfo slurm{"4711", 2, 0};
  EXPECT_EQ(default_job_name(options_for(CommandKind::script, {"train.py"}), slurm, some_time()),
            "train-4711");
}

TEST(SlurmInfo, OfABatchScriptAndOfAStep) {
  EXPECT_FALSE(slurm_info({}).has_value());
  const auto batch = slurm_info({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NAME", "ctr"}});
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->restart_count, 0u);
  EXPECT_FALSE(batch->in_step);
  EXPECT_EQ(batch->job_name, "ctr");
  const auto step = slurm_info({{"SLURM_JOB_ID", "7"},
                                {"SLURM_STEP_ID", "0"},
                                {"SLURM_NODEID", "3"},
                                {"SLURM_RESTART_COUNT", "2"},
                                {"SLURM_JOB_NODELIST", "n[1-4]"}});
  ASSERT_TRUE(step.has_value());
  EXPECT_TRUE(step->in_step);
  EXPECT_EQ(step->node_index, 3);
  EXPECT_EQ(step->restart_count, 2u);
  EXPECT_EQ(step->nodes, "n[1-4]");
}

TEST(PlaceInvocation, EachRunIsAnAllocation) {
  EXPECT_EQ(place({}, std::nullopt, std::nullopt), 1u);
  EXPECT_EQ(place({1, 2, 3}, std::nullopt, std::nullopt), 65537u);
  EXPECT_EQ(place({1, 65537, 65538}, std::nullopt, std::nullopt), 2 * 65536u + 1);
}

TEST(PlaceInvocation, UnderSlurmTheRestartCountDecides) {
  const AllocationNote note{"7", 0};
  EXPECT_EQ(place({}, std::nullopt, SlurmInfo{"7", 0, 0}), 1u);
  EXPECT_EQ(place({1, 2}, note, SlurmInfo{"7", 1, 0}), 65537u);
  EXPECT_EQ(place({1, 2}, note, SlurmInfo{"7", 0, 0}), 3u) << "a second run in one allocation";
  EXPECT_EQ(place({1}, note, SlurmInfo{"7", 5, 0}), 5 * 65536u + 1);
}

TEST(PlaceInvocation, AnotherSlurmJobOfTheSameNameGoesOnAbove) {
  const Placement placed = place_invocation(std::vector<std::uint64_t>{1, 65537},
                                            AllocationNote{"7", 0}, SlurmInfo{"8", 0, 0});
  EXPECT_EQ(placed.first.value(), 2 * 65536u + 1);
  EXPECT_EQ(placed.note.base, 2u);
  EXPECT_EQ(place({1, 65537, 2 * 65536 + 1}, placed.note, SlurmInfo{"8", 1, 0}), 3 * 65536u + 1);
}

TEST(PlaceInvocation, IdsOnlyGrow) {
  const AllocationNote note{"7", 0};
  EXPECT_EQ(place({1, 4 * 65536 + 1}, note, SlurmInfo{"7", 1, 0}), 5 * 65536u + 1);
}

TEST(AllocationNote, RoundTrips) {
  for (const AllocationNote& note : {AllocationNote{"", 0}, AllocationNote{"4711_3", 9}}) {
    const auto parsed = parse_note("pid 3 on host\n" + format_note(note));
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->slurm_job_id, note.slurm_job_id);
    EXPECT_EQ(parsed->base, note.base);
  }
  EXPECT_FALSE(parse_note("").has_value());
  EXPECT_FALSE(parse_note("base x slurm 1\n").has_value());
}

}  // namespace
}  // namespace headway::agent
