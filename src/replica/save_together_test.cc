// Saves by several machines from real slots: on a disk that fails at any call, with machines that
// never come, and at the end of a run, when they are a step apart.
#include "replica/save_together.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <random>
#include <set>
#include <thread>

#include "base/sim_file_system.h"
#include "checkpoint/load.h"
#include "checkpoint/look.h"
#include "checkpoint/verify.h"
#include "replica/test_slots.h"

namespace headway::replica {
namespace {

using base::SimFileSystem;
using base::Status;

constexpr const char* kFolder = "/jobs/ck";
constexpr std::uint32_t kRanks = 3;  // the first machine has rank 0, the second the others
constexpr std::size_t kBytes = 2500;
constexpr std::int64_t kSecond = 1'000'000'000;

class SaveTogether : public testing::Test {
 protected:
  std::vector<std::shared_ptr<Slot>> slots_of(std::uint64_t step, std::uint32_t machine) {
    auto& slots = slots_[{step, machine}];
    const std::uint32_t first = machine == 0 ? 0 : 1;
    const std::uint32_t end = machine == 0 ? 1 : kRanks;
    for (std::uint32_t rank = first; slots.size() < end - first; ++rank) {
      SlotFacts facts;
      facts.step = step;
      facts.rank = rank;
      facts.attempt = 1;
      facts.run = 99;
      facts.world_size = kRanks;
      slots.push_back(filled_slot(dir_, facts, kBytes, team_));
    }
    return slots;
  }

  // Who waits for somebody gives signs of life too.
  static Patience waits(std::int64_t silence_ns) {
    const std::int64_t beat_ns = silence_ns == 0 ? 3600 * kSecond : kSecond / 50;
    return {{.end_ns = silence_ns, .beat_ns = beat_ns},
            [] { return true; },
            [silence_ns] { return silence_ns; }};
  }

  // Waits for nobody: what is there when it looks counts.
  Status save(base::FileSystem& files, std::uint64_t step, std::uint32_t machine,
              const std::string& folder = kFolder, std::int64_t silence_ns = 0) {
    SaveOrder order{folder, "job", {.last = 2}};
    order.newest_attempt = 1;
    const Patience patience = waits(silence_ns);
    return save_together(files, order, slots_of(step, machine), false, patience, [](const auto&) {})
        .status();
  }
  // Both machines', by turns: the second has its part there, the first commits, the second sees.
  struct Told {
    Status first;
    Status second;
  };
  Told save_both(base::FileSystem& files, std::uint64_t step) {
    (void)save(files, step, 1);
    Status first = save(files, step, 0);
    return {first, save(files, step, 1)};
  }

  std::unique_ptr<SimFileSystem> with_two() {
    auto files = std::make_unique<SimFileSystem>();
    EXPECT_TRUE(files->make_folder("/jobs").ok());
    EXPECT_TRUE(files->sync_folder("/").ok());
    for (const std::uint64_t step : {10, 20}) EXPECT_TRUE(save_both(*files, step).second.ok());
    return files;
  }

  static std::uint64_t restored(base::FileSystem& files, const std::string& where = kFolder) {
    const checkpoint::CheckpointFolder folder(files, where);
    auto names = folder.list();
    for (const checkpoint::CheckpointName& name : *names) {
      auto reader = checkpoint::CheckpointReader::open(files, folder.path_of(name));
      if (!reader.ok()) continue;
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        std::vector<std::byte> got(kBytes);
        const Status read = (*reader)->read(fmt::format("w.{}", rank), {{0}, {kBytes}}, got);
        EXPECT_TRUE(read.ok()) << "a checkpoint that opens is whole: " << read.message();
        EXPECT_EQ(got, state_of(name.step, rank, kBytes)) << "step " << name.step;
      }
      return name.step;
    }
    return 0;
  }
  static std::size_t checkpoints(base::FileSystem& files) {
    return checkpoint::CheckpointFolder(files, kFolder).list()->size();
  }

  const base::TempDir dir_;
  CopyTeam team_{1};
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<std::shared_ptr<Slot>>> slots_;
};

TEST_F(SaveTogether, EveryCallOfEitherMayFail) {
  const auto before = with_two();
  const auto whole = before->after_crash([](std::size_t) { return 1.0; });
  whole->fail(std::nullopt);
  EXPECT_TRUE(save_both(*whole, 30).first.ok());
  const std::size_t calls = whole->calls();
  EXPECT_EQ(checkpoints(*whole), 2U) << "retention is the first one's";
  ASSERT_GT(calls, 80U);
  for (const int error : {ENOSPC, EIO}) {
    for (const bool lasting : {false, true}) {
      for (std::size_t n = 0; n < calls; ++n) {
        const auto files = before->after_crash([](std::size_t) { return 1.0; });
        files->fail(SimFileSystem::Fault{.call = n, .error = error, .lasting = lasting});
        const Told told = save_both(*files, 30);
        files->fail(std::nullopt);
        const std::string where = fmt::format("call {} errno {} {}", n, error, lasting);
        const std::uint64_t step = restored(*files);
        const bool durable = told.first.ok() || told.second.ok();
        EXPECT_TRUE(step == 30 || (step == 20 && !durable)) << where << ": step " << step;
        EXPECT_GE(checkpoints(*files), 2U) << where << ": retention promises two";
        if (!told.first.ok()) {
          EXPECT_NE(told.first.message().find("the next save tries again"), std::string::npos);
        }
        const Told next = save_both(*files, 40);
        EXPECT_TRUE(next.first.ok() && next.second.ok()) << where << next.first.message();
        EXPECT_EQ(restored(*files), 40U) << where;
        for (const auto& [path, content] : files->contents()) {
          EXPECT_EQ(path.find(".parts"), std::string::npos) << where << " left " << path;
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(SaveTogether, AMachineThatNeverComesIsNamedAndNothingIsLeftButAMark) {
  const auto files = with_two();
  const Status status = save(*files, 30, 0);
  EXPECT_NE(status.message().find("nothing has come from the machine of rank 1 and 1 more"),
            std::string::npos)
      << status.message();
  std::size_t left = 0;
  for (const auto& [path, content] : files->contents()) left += path.find(".parts") != path.npos;
  EXPECT_EQ(left, 2U) << "the folder and the mark";
  const Status late = save(*files, 30, 1);
  EXPECT_NE(late.message().find("has given it up"), std::string::npos) << late.message();
  EXPECT_TRUE(save_both(*files, 40).second.ok());
}

// The first machine's disk is the second one's: it makes room for the next save.
TEST_F(SaveTogether, AMachineWithoutRoomLetsTheFirstThinOut) {
  const auto files = with_two();
  for (const std::uint64_t step : {21, 22, 23}) {
    SaveOrder all{kFolder, "job", {.last = 0}};
    const Patience patience = waits(0);
    for (const std::uint32_t machine : {1, 0}) {
      (void)save_together(*files, all, slots_of(step, machine), false, patience,
                          [](const auto&) {});
    }
  }
  ASSERT_EQ(checkpoints(*files), 5U);
  Status second;
  for (std::size_t n = 0; second.code() != base::Code::no_space; ++n) {
    ASSERT_LT(n, 30U) << "one of its calls needs room";
    files->fail_at(n);
    second = save(*files, 30, 1);
  }
  files->fail_at(std::nullopt);
  EXPECT_EQ(save(*files, 30, 0).code(), base::Code::no_space);
  EXPECT_EQ(checkpoints(*files), 2U);
  EXPECT_TRUE(save_both(*files, 40).first.ok());
}

// Machines hold a window of steps each. They find the newest that all have, whatever the order.
TEST_F(SaveTogether, AtTheEndAllChooseTheNewestThatAllHave) {
  const auto seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE(fmt::format("seed {}", seed));
  auto& files = base::real_file_system();
  for (int round = 0; round < 20; ++round) {
    const std::string folder = fmt::format("{}/ck-{}", dir_.path(), round);
    std::vector<Steps> have(2);
    std::set<std::uint64_t> steps[2];
    for (std::uint32_t machine = 0; machine < 2; ++machine) {
      const std::uint64_t newest = 10 + random() % 3;
      for (std::uint64_t step = newest; step > newest - 2; --step) {
        have[machine].push_back(slots_of(step, machine));
        steps[machine].insert(step);
      }
    }
    std::uint64_t common = 0;
    for (const std::uint64_t step : steps[0]) common = steps[1].contains(step) ? step : common;
    std::vector<std::future<std::uint64_t>> answers;
    for (std::uint32_t machine = 0; machine < 2; ++machine) {
      const auto delay = std::chrono::microseconds(random() % 20'000);
      answers.push_back(std::async(std::launch::async, [&, machine, delay] {
        std::this_thread::sleep_for(delay);
        const SaveOrder order{folder, "job", {}};
        const std::int64_t wait_ns = common == 0 ? kSecond / 5 : 60 * kSecond;
        const Patience patience = waits(wait_ns);
        const auto agreed = agree_on_end(files, order, have[machine], true, patience);
        return agreed.ok() ? have[machine][agreed.value()][0]->facts()->step : 0;
      }));
    }
    EXPECT_EQ(answers[0].get(), common) << round;
    EXPECT_EQ(answers[1].get(), common) << round;
  }
}

// A disk that takes long over every sync of a folder.
class SlowFileSystem final : public base::FileSystem {
 public:
  explicit SlowFileSystem(std::chrono::milliseconds sync) : sync_(sync) {}
  base::Result<std::unique_ptr<base::OutputFile>> create(
      const std::string& path, const base::CreateOptions& options) override {
    return files_.create(path, options);
  }
  base::Result<std::unique_ptr<base::OutputFile>> reopen(const std::string& path) override {
    return files_.reopen(path);
  }
  base::Result<std::unique_ptr<base::InputFile>> open(const std::string& path) override {
    return files_.open(path);
  }
  Status make_folder(const std::string& path) override { return files_.make_folder(path); }
  Status rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Status remove_file(const std::string& path) override { return files_.remove_file(path); }
  Status remove_folder(const std::string& path) override { return files_.remove_folder(path); }
  Status sync_folder(const std::string& path) override {
    std::this_thread::sleep_for(sync_);
    return files_.sync_folder(path);
  }
  base::Result<std::vector<base::FolderEntry>> list(const std::string& path) override {
    return files_.list(path);
  }

 private:
  base::FileSystem& files_ = base::real_file_system();
  const std::chrono::milliseconds sync_;
};

// It works, and says so while it stands in one call for longer than anybody waits for a sign.
TEST_F(SaveTogether, ASlowDiskIsNoDeadMachine) {
  SlowFileSystem slow(std::chrono::seconds(3));
  const std::string folder = dir_.path() + "/ck";
  for (const std::uint32_t machine : {0, 1}) (void)slots_of(10, machine);
  auto second = std::async(std::launch::async, [&] { return save(slow, 10, 1, folder, kSecond); });
  const Status first = save(base::real_file_system(), 10, 0, folder, kSecond);
  EXPECT_TRUE(first.ok()) << first.message();
  // Its part was committed while it was still syncing the folder that this moved away.
  const Status told = second.get();
  EXPECT_TRUE(told.ok()) << told.message();
  const auto left = base::real_file_system().list(folder);
  for (const auto& entry : left.value()) {
    EXPECT_FALSE(entry.name.starts_with(checkpoint::parts_prefix)) << entry.name;
  }
}

TEST_F(SaveTogether, TwoMachinesAtOnce) {
  auto& files = base::real_file_system();
  const std::string folder = dir_.path() + "/ck";
  for (const std::uint64_t step : {10, 20, 30}) {
    (void)slots_of(step, 0);
    (void)slots_of(step, 1);
    auto second =
        std::async(std::launch::async, [&] { return save(files, step, 1, folder, 60 * kSecond); });
    const Status first = save(files, step, 0, folder, 60 * kSecond);
    EXPECT_TRUE(first.ok()) << first.message();
    EXPECT_TRUE(second.get().ok());
    EXPECT_EQ(restored(files, folder), step);
  }
}

}  // namespace
}  // namespace headway::replica
