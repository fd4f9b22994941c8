// A save, from real slots of several ranks or a trainer's memory through retention, on a disk that
// fails or loses its power at any call: what can be restored afterwards is the old newest step or
// the new one, to the last byte, never a mixture and never less than retention promises.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/sim_file_system.h"
#include "base/temp_dir.h"
#include "checkpoint/delta.h"
#include "checkpoint/load.h"
#include "checkpoint/look.h"
#include "checkpoint/prune.h"
#include "checkpoint/shard.h"
#include "checkpoint/test_checkpoint.h"
#include "checkpoint/verify.h"
#include "replica/save_step.h"
#include "replica/test_slots.h"

namespace headway::replica {
namespace {

using base::SimFileSystem;
using base::Status;

constexpr const char* kFolder = "/jobs/ck";
constexpr std::uint32_t kRanks = 2;
// Of each rank: several sectors, not a whole number of them.
constexpr std::uint64_t kRows = 250, kRowBytes = 10;
constexpr std::size_t kOwnBytes = kRows * kRowBytes;
constexpr std::uint64_t kOld = 20, kNew = 30;

// What a save is of.
enum class Kind {
  whole,      // images out of slots
  delta,      // rows on top of a delta on top of an image
  compacted,  // an image, after which those of such a chain go
  streamed,   // files that the trainer itself writes out of its memory: `stream`, hw.dcp.Writer
};

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"whole", "delta", "compacted", "streamed"};
  return kNames[static_cast<int>(kind)];
}

class SaveCrash : public testing::Test {
 protected:
  explicit SaveCrash(Kind kind = Kind::whole) : kind_(kind) {}

  [[nodiscard]] bool has_deltas() const { return kind_ == Kind::delta || kind_ == Kind::compacted; }
  // 0: it is a whole one. Else every so many rows are of this step, the others of the one before.
  [[nodiscard]] std::uint64_t every_rows(std::uint64_t step) const {
    if (has_deltas() && step == kOld) return 2;
    return kind_ == Kind::delta && step == kNew ? 3 : 0;
  }
  [[nodiscard]] std::vector<std::byte> values(std::uint64_t step, std::uint32_t rank) const {
    const auto own = state_of(step, rank, kOwnBytes);
    const std::uint64_t every = every_rows(step);
    if (every == 0) return own;
    auto out = values(step - 10, rank);
    for (std::uint64_t row = 0; row < kRows; row += every) {
      std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(row * kRowBytes), kRowBytes,
                  out.begin() + static_cast<std::ptrdiff_t>(row * kRowBytes));
    }
    return out;
  }

  static checkpoint::Piece table_of(std::uint32_t rank) {
    return {fmt::format("w.{}", rank), checkpoint::DType::u8, {kRows, kRowBytes}, {0, 0}};
  }

  // As a trainer leaves it: sealed and pinned.
  std::shared_ptr<Slot> slot_of(std::uint64_t step, std::uint32_t rank) {
    const std::uint64_t every = every_rows(step);
    const auto own = values(step, rank);
    std::vector<std::int64_t> ids;
    for (std::uint64_t row = 0; every > 0 && row < kRows; row += every) {
      ids.push_back(static_cast<std::int64_t>(row));
    }
    std::vector<ImagePiece> pieces = {{table_of(rank), true}};
    std::vector<Source> sources = {{.at = own.data()}};
    if (every > 0) {
      const auto two = checkpoint::row_pieces(table_of(rank), ids.size());
      pieces = {{two.ids, true}, {two.rows, true}};
      sources = {{.at = reinterpret_cast<const std::byte*>(ids.data())},
                 {.at = own.data(), .rows = ids, .row_bytes = kRowBytes}};
    }
    const Stage stage(plan_image(pieces).value());
    const std::string path = fmt::format("{}/{}-{}", dir_.path(), step, rank);
    auto slot = Slot::create(path, stage.plan().bytes);
    EXPECT_TRUE(slot.ok() && (*slot)->allocate([] { return true; }).ok());
    EXPECT_TRUE((*slot)->try_begin());
    stage.fill(**slot, sources, team_);
    SlotFacts facts;
    facts.step = facts.sequence = step;
    facts.time_ns = static_cast<std::int64_t>(step);
    facts.since = every > 0 ? step - 10 : 0;
    facts.rank = rank;
    facts.world_size = kRanks;
    facts.own = stage.plan().own.range;
    facts.rest = stage.plan().rest.range;
    (*slot)->seal(facts, true);
    return *slot;
  }

  std::vector<std::shared_ptr<Slot>> slots_of(std::uint64_t step) {
    auto& slots = slots_[step];
    for (auto rank = static_cast<std::uint32_t>(slots.size()); rank < kRanks; ++rank) {
      slots.push_back(slot_of(step, rank));
    }
    return slots;
  }

  // As the checkpointer does without a replica.
  Status stream(base::FileSystem& files, std::uint64_t step) {
    checkpoint::CheckpointFolder folder(files, kFolder);
    checkpoint::Manifest facts;
    facts.step = step;
    facts.world_size = kRanks;
    facts.time_ns = static_cast<std::int64_t>(step);
    auto draft = checkpoint::Draft::begin(folder, facts);
    if (!draft.ok()) return draft.status();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto own = values(step, rank);
      const std::byte* const sources[] = {own.data()};
      auto entry = checkpoint::write_shard(files, (*draft)->path(),
                                           fmt::format("rank-{:05}.safetensors", rank), rank,
                                           {table_of(rank)}, sources);
      if (!entry.ok()) return entry.status();
      (*draft)->take(std::move(*entry));
    }
    if (auto name = (*draft)->commit(); !name.ok()) return name.status();
    auto plan = checkpoint::plan_prune(files, kFolder, {.last = 2});
    if (plan.ok())
      (void)checkpoint::execute_prune(files, kFolder, *plan);  // no failure of the save
    return {};
  }

  Status save(base::FileSystem& files, std::uint64_t step) {
    if (kind_ == Kind::streamed) return stream(files, step);
    SaveOrder order{kFolder, "job", {.last = 2}};
    if (every_rows(step) > 0) order.base = names_.at(step - 10);
    auto name = save_step(files, order, slots_of(step), [] { return true; }, [](const auto&) {});
    if (name.ok()) names_[step] = name->text();
    return name.status();
  }

  // Steps 10 and 20, of which both stay: retention keeps two. And of deltas also the two newest
  // whole ones.
  std::unique_ptr<SimFileSystem> with_two() {
    auto files = std::make_unique<SimFileSystem>();
    EXPECT_TRUE(files->make_folder("/jobs").ok());
    EXPECT_TRUE(files->sync_folder("/").ok());
    if (has_deltas()) {
      EXPECT_TRUE(save(*files, 5).ok());
    }
    EXPECT_TRUE(save(*files, 10).ok());
    EXPECT_TRUE(save(*files, kOld).ok());
    return files;
  }

  // As hw.checkpointer goes back: the newest that reads, with checksums. The step, 0 if none.
  std::uint64_t restored(base::FileSystem& files) {
    const checkpoint::CheckpointFolder folder(files, kFolder);
    auto names = folder.list();
    EXPECT_TRUE(names.ok()) << names.status().message();
    for (const checkpoint::CheckpointName& name : *names) {
      auto reader = checkpoint::CheckpointReader::open(files, folder.path_of(name));
      if (!reader.ok()) continue;
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        std::vector<std::byte> got(kOwnBytes);
        const Status read =
            (*reader)->read(fmt::format("w.{}", rank), {{0, 0}, {kRows, kRowBytes}}, got);
        EXPECT_TRUE(read.ok()) << "a checkpoint that opens is whole: " << read.message();
        EXPECT_EQ(got, values(name.step, rank)) << "step " << name.step << " rank " << rank;
      }
      EXPECT_EQ((*reader)->manifest().step, name.step);
      return name.step;
    }
    return 0;
  }

  // The steps that are listed as good; whatever is listed so is good to the last byte.
  static std::set<std::uint64_t> good_steps(base::FileSystem& files) {
    std::set<std::uint64_t> steps;
    auto looks = checkpoint::look_at_all(files, kFolder);
    EXPECT_TRUE(looks.ok()) << looks.status().message();
    const auto traces = checkpoint::find_traces(files, kFolder);
    EXPECT_TRUE(traces.ok() && traces.value().empty()) << "as if somebody had lost a checkpoint";
    for (const checkpoint::Look& look : *looks) {
      EXPECT_TRUE(look.state.ok()) << look.state.message();
      auto report = checkpoint::verify_checkpoint(files, look.path);
      EXPECT_TRUE(report.ok() && report->good()) << look.path;
      steps.insert(look.name.step);
    }
    return steps;
  }

  // Scripts that go by LATEST find a whole one.
  static void check_latest(base::FileSystem& files) {
    std::vector<std::string> passed;
    auto path = checkpoint::find_checkpoint(files, std::string(kFolder) + "/LATEST", passed);
    ASSERT_TRUE(path.ok()) << path.status().message();
    auto report = checkpoint::verify_checkpoint(files, *path);
    EXPECT_TRUE(report.ok() && report->good()) << *path;
  }

  static bool has_draft(const SimFileSystem& files) {
    const auto contents = files.contents();
    return std::any_of(contents.begin(), contents.end(), [](const auto& entry) {
      return entry.first.find(".draft-") != std::string::npos ||
             entry.first.find(".tmp") != std::string::npos;
    });
  }

  void check_after(SimFileSystem& files, bool done, const std::string& where) {
    const std::uint64_t step = restored(files);
    EXPECT_TRUE(step == kNew || (step == kOld && !done)) << where << ": step " << step;
    const auto steps = good_steps(files);
    EXPECT_GE(steps.size(), 2U) << where << ": retention promises two";
    EXPECT_EQ(*steps.rbegin(), step) << where;
    check_latest(files);
  }

  // The next save is not held up and leaves nothing of this one.
  void check_next(SimFileSystem& files, const std::string& where) {
    const Status next = save(files, 40);
    EXPECT_TRUE(next.ok()) << where << ": " << next.message();
    EXPECT_EQ(restored(files), 40U) << where;
    EXPECT_FALSE(has_draft(files)) << where;
    // A delta stays with what it is based on.
    EXPECT_TRUE(good_steps(files).size() == 2 || has_deltas()) << where;
    check_latest(files);
  }

  std::size_t calls_of_a_save() {
    const auto files = with_two();
    files->fail_at(std::nullopt);
    EXPECT_TRUE(save(*files, kNew).ok());
    const std::set<std::uint64_t> stay = kind_ == Kind::delta
                                             ? std::set<std::uint64_t>{5, 10, 20, 30}
                                         : has_deltas() ? std::set<std::uint64_t>{10, 20, 30}
                                                        : std::set<std::uint64_t>{20, 30};
    EXPECT_EQ(good_steps(*files), stay);
    return files->calls();
  }

  const Kind kind_;
  const base::TempDir dir_;
  CopyTeam team_{1};
  std::map<std::uint64_t, std::vector<std::shared_ptr<Slot>>> slots_;
  std::map<std::uint64_t, std::string> names_;  // of what was saved, by step
};

class EachSaveCrash : public SaveCrash, public testing::WithParamInterface<Kind> {
 protected:
  EachSaveCrash() : SaveCrash(GetParam()) {}
  // The last makes no difference but to whole ones, of which one is enough.
  static std::vector<int> errors(std::vector<int> all) {
    if (GetParam() != Kind::whole) all.pop_back();
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, EachSaveCrash,
                         testing::Values(Kind::whole, Kind::delta, Kind::compacted, Kind::streamed),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

TEST_P(EachSaveCrash, EveryCallMayFailInEveryWay) {
  const std::size_t calls = calls_of_a_save();
  ASSERT_GT(calls, kind_ == Kind::delta ? 40U : 60U);
  for (const int error : errors({ENOSPC, EIO, EROFS})) {
    for (const bool lasting : {false, true}) {
      for (const bool torn : {false, true}) {
        for (std::size_t n = 0; n < calls; ++n) {
          const auto files = with_two();
          files->fail(SimFileSystem::Fault{n, error, lasting, torn});
          const Status status = save(*files, kNew);
          files->fail(std::nullopt);
          const std::string where = fmt::format("call {} errno {}{}{}", n, error,
                                                lasting ? " lasting" : "", torn ? " torn" : "");
          check_after(*files, status.ok(), where);
          // A disk that can be emptied has been: only one that nobody can write to has waste.
          if (!lasting || error == ENOSPC) {
            EXPECT_TRUE(n + 2 > calls || !has_draft(*files) || !status.ok()) << where;
          }
          if (!status.ok()) {
            // Of one that the trainer writes itself the trainer has something else to say.
            const bool streamed = kind_ == Kind::streamed;
            for (const char* said : {streamed ? "/jobs" : kFolder,
                                     streamed ? "injected" : "the next save tries again"}) {
              EXPECT_NE(status.message().find(said), std::string::npos) << status.message();
            }
          }
          check_next(*files, where);
          // And so does what is on the disk, not only in its cache.
          const auto later = files->after_crash([](std::size_t) { return 0.0; });
          EXPECT_EQ(restored(*later), 40U) << where;
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(EachSaveCrash, AFullDiskLeavesNoDraft) {
  const std::size_t calls = calls_of_a_save();
  for (std::size_t n = 0; n < calls; ++n) {
    const auto files = with_two();
    files->fail(SimFileSystem::Fault{.call = n, .error = ENOSPC, .lasting = true});
    (void)save(*files, kNew);
    files->fail(std::nullopt);
    EXPECT_FALSE(has_draft(*files)) << "call " << n;
  }
}

TEST_P(EachSaveCrash, ThePowerMayGoBeforeEveryCall) {
  const std::size_t calls = calls_of_a_save();
  for (std::size_t n = 0; n <= calls; ++n) {
    const auto files = with_two();
    files->lose_power_at(n);
    const Status status = save(*files, kNew);
    checkpoint::each_crash_state(*files, [&](SimFileSystem& after) {
      const std::string where = fmt::format("call {}", n);
      check_after(after, status.ok(), where);
      check_next(after, where);
    });
    if (HasFailure()) return;
  }
}

// First the disk fails, then the power: what a failed sync lost must not be built upon.
TEST_P(EachSaveCrash, AnErrorAndThenTheEnd) {
  const std::size_t calls = calls_of_a_save();
  for (const int error : errors({EIO, ENOSPC})) {
    for (std::size_t n = 0; n < calls; ++n) {
      const auto files = with_two();
      files->fail(SimFileSystem::Fault{.call = n, .error = error});
      const Status status = save(*files, kNew);
      files->fail(std::nullopt);
      checkpoint::each_crash_state(*files, [&](SimFileSystem& after) {
        check_after(after, status.ok(), fmt::format("call {} errno {}", n, error));
      });
      if (HasFailure()) return;
    }
  }
}

// What is too many by the policy of today is no reason to fail for want of room.
TEST_F(SaveCrash, AFullDiskIsThinnedOutFirst) {
  const auto files = with_two();
  for (const std::uint64_t step : {30, 40, 50}) {
    const SaveOrder all{kFolder, "job", {.last = 0}};
    ASSERT_TRUE(
        save_step(*files, all, slots_of(step), [] { return true; }, [](const auto&) {}).ok());
  }
  ASSERT_EQ(good_steps(*files).size(), 5U);
  files->fail_at(8);  // full, once: when the first file is made
  const Status status = save(*files, 60);
  EXPECT_GT(files->calls(), 8U);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(good_steps(*files), (std::set<std::uint64_t>{50, 60}));
}

TEST_F(SaveCrash, ASlotThatIsNotWhatWasSealedIsNotWritten) {
  const auto files = with_two();
  const auto slots = slots_of(kNew);
  slots[1]->checksums()[0] ^= 1;
  const Status status = save(*files, kNew);
  EXPECT_NE(status.message().find("not what was sealed"), std::string::npos) << status.message();
  EXPECT_EQ(restored(*files), kOld);
  EXPECT_FALSE(has_draft(*files));
}

}  // namespace
}  // namespace headway::replica
