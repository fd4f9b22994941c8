// Two machines write a checkpoint, and one of their calls fails, or the power of the file server
// goes before it: the folder holds the old newest checkpoint or the new one, whole, never a mixture
// of two; what one of them was told to be durable is there; and the next save finds its way.
#include <gtest/gtest.h>

#include <cerrno>

#include "checkpoint/test_checkpoint.h"
#include "checkpoint/test_together.h"

namespace headway::checkpoint {
namespace {

using base::SimFileSystem;

std::unique_ptr<SimFileSystem> with_one() {
  auto files = together_disk();
  EXPECT_TRUE(save_together(*files, 10, false).leader);
  return files;
}

std::size_t calls_of_a_save(bool leader_first) {
  const auto files = with_one();
  files->fail_at(std::nullopt);
  EXPECT_TRUE(save_together(*files, 20, leader_first).follower);
  return files->calls();
}

std::size_t checkpoints_of(SimFileSystem& files, std::uint64_t step) {
  const auto names = CheckpointFolder(files, together_folder).list();
  return static_cast<std::size_t>(
      std::count_if(names.value().begin(), names.value().end(),
                    [&](const CheckpointName& name) { return name.step == step; }));
}

void check(SimFileSystem& files, const Told& told, const std::string& where) {
  const std::uint64_t step = together_found(files);
  const bool durable = told.leader || told.follower;
  EXPECT_TRUE(step == 20 || (step == 10 && !durable)) << where << ": step " << step;
  expect_no_traces(files, together_folder);
}

void check_next(SimFileSystem& files, const std::string& where) {
  const Told next = save_together(files, 30, true);
  EXPECT_TRUE(next.leader && next.follower) << where;
  EXPECT_EQ(together_found(files), 30U) << where;
  for (const auto& [path, content] : files.contents()) {
    EXPECT_EQ(path.find(".parts"), std::string::npos) << where << " left " << path;
  }
}

TEST(TogetherCrash, EveryCallOfBothMayFail) {
  for (const bool leader_first : {false, true}) {
    const std::size_t calls = calls_of_a_save(leader_first);
    ASSERT_GT(calls, 50U);
    for (const int error : {ENOSPC, EIO}) {
      for (const bool lasting : {false, true}) {
        for (std::size_t n = 0; n < calls; ++n) {
          const auto files = with_one();
          files->fail(SimFileSystem::Fault{.call = n, .error = error, .lasting = lasting});
          const Told told = save_together(*files, 20, leader_first);
          files->fail(std::nullopt);
          const std::string where = fmt::format("call {} errno {} {}", n, error, lasting);
          check(*files, told, where);
          check_next(*files, where);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// All go on where they were: what was half done is the checkpoint in the end, and there is one.
TEST(TogetherCrash, ThePowerMayGoBeforeEveryCallOfBoth) {
  for (const bool leader_first : {false, true}) {
    const std::size_t calls = calls_of_a_save(leader_first);
    for (std::size_t n = 0; n <= calls; ++n) {
      const auto files = with_one();
      files->lose_power_at(n);
      const Told told = save_together(*files, 20, leader_first);
      const std::string where = fmt::format("call {}", n);
      each_crash_state(*files, [&](SimFileSystem& after) {
        check(after, told, where);
        const Told again = save_together(after, 20, leader_first);
        EXPECT_TRUE(again.leader && again.follower) << where;
        EXPECT_EQ(together_found(after), 20U) << where;
        EXPECT_EQ(checkpoints_of(after, 20), 1U) << where;
        check_next(after, where);
      });
      if (testing::Test::HasFailure()) return;
    }
  }
}

// One of the two dies at any call, the file system lives: the other one and its successor go on.
TEST(TogetherCrash, OneOfThemMayDieBeforeEveryCall) {
  for (const std::uint32_t dies : {0U, 1U}) {
    for (std::size_t n = 0;; ++n) {
      const auto files = with_one();
      const std::uint32_t other = 1 - dies;
      const auto count = [](std::uint32_t first) { return first == 0 ? 1U : 2U; };
      Machine lives(*files, 20, other, count(other));
      lives.prepare();
      files->lose_power_at(n);
      Machine dead(*files, 20, dies, count(dies));
      dead.prepare();
      dead.look();
      const bool over = files->calls() <= n;
      const auto after = files->after_crash([](std::size_t) { return 1.0; });
      Machine next(*after, 20, dies, count(dies));
      Machine still(*after, 20, other, count(other));
      next.prepare();
      still.prepare();
      for (Machine* each : {&next, &still, &next, &still}) each->look();
      EXPECT_TRUE(next.durable && still.durable) << dies << " call " << n << next.why << still.why;
      EXPECT_EQ(together_found(*after), 20U) << dies << " call " << n;
      EXPECT_EQ(checkpoints_of(*after, 20), 1U) << dies << " call " << n;
      if (over || testing::Test::HasFailure()) break;
    }
  }
}

}  // namespace
}  // namespace headway::checkpoint
