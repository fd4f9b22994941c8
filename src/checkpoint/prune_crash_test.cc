// A prune, a copy and a restore whose power goes before any of their calls: what is there is whole,
// what must stay stays, and the next one is not held up.
#include <fmt/format.h>

#include "checkpoint/anchor.h"
#include "checkpoint/copy.h"
#include "checkpoint/prune.h"
#include "checkpoint/restore.h"
#include "checkpoint/test_checkpoint.h"

namespace headway::checkpoint {
namespace {

using base::SimFileSystem;
using base::Status;

constexpr const char* kFolder = "/jobs/ck";

Status save(base::FileSystem& files, std::uint64_t step) {
  Manifest facts;
  facts.step = step;
  facts.time_ns = static_cast<std::int64_t>(step);
  const std::vector<std::vector<TestPiece>> ranks = {{{"w", {{0, 0}, {3, 50}}}},
                                                     {{"w", {{3, 0}, {2, 50}}}}};
  return save_pieces(files, kFolder, facts, ranks).status();
}

std::unique_ptr<SimFileSystem> with_checkpoints(std::uint64_t count) {
  auto files = std::make_unique<SimFileSystem>();
  EXPECT_TRUE(files->make_folder("/jobs").ok());
  EXPECT_TRUE(files->sync_folder("/").ok());
  for (std::uint64_t step = 1; step <= count; ++step) EXPECT_TRUE(save(*files, step).ok());
  return files;
}

// The steps that are listed as good; each of them is, to the last byte.
std::vector<std::uint64_t> good_steps(base::FileSystem& files) {
  std::vector<std::uint64_t> steps;
  auto looks = look_at_all(files, kFolder);
  EXPECT_TRUE(looks.ok());
  for (const Look& look : looks.value()) {
    EXPECT_TRUE(look.state.ok()) << look.state.message();
    auto report = verify_checkpoint(files, look.path);
    EXPECT_TRUE(report.ok() && report.value().good()) << look.path;
    steps.push_back(look.name.step);
  }
  return steps;
}

Status prune(base::FileSystem& files, const RetentionPolicy& policy) {
  auto plan = plan_prune(files, kFolder, policy);
  return plan.ok() ? execute_prune(files, kFolder, *plan) : plan.status();
}

bool has(const std::vector<std::uint64_t>& steps, std::uint64_t step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

TEST(PruneCrash, WhatRemainsIsWhole) {
  for (std::size_t n = 0;; ++n) {
    const auto files = with_checkpoints(5);
    ASSERT_TRUE(set_anchor(*files, std::string(kFolder) + "/step-00000002-000002", "why").ok());
    files->lose_power_at(n);
    const bool done = prune(*files, {.last = 2}).ok();
    each_crash_state(*files, [&](SimFileSystem& after) {
      const auto steps = good_steps(after);
      EXPECT_TRUE(has(steps, 5) && has(steps, 4) && has(steps, 2)) << "call " << n;
      expect_no_traces(after, kFolder);
      if (done) {
        EXPECT_EQ(steps, (std::vector<std::uint64_t>{5, 4, 2}));
      }
      EXPECT_EQ(base::read_all(after, std::string(kFolder) + "/LATEST", 100).value(),
                "step-00000005-000005\n");
      EXPECT_TRUE(prune(after, {.last = 2}).ok()) << "call " << n;
      EXPECT_EQ(good_steps(after), (std::vector<std::uint64_t>{5, 4, 2})) << "call " << n;
      for (const auto& [path, content] : after.contents()) {
        EXPECT_EQ(path.find("removing"), std::string::npos) << "call " << n << " left " << path;
      }
      EXPECT_TRUE(save(after, 6).ok()) << "call " << n;
    });
    if (done || HasFailure()) {
      EXPECT_GT(n, 20U);
      break;
    }
  }
}

// Only a person may say that a manifest will not come back.
TEST(Prune, FilesWithoutTheirManifestStay) {
  const auto files = with_checkpoints(4);
  const std::string path = std::string(kFolder) + "/step-00000002-000002";
  ASSERT_TRUE(files->remove_file(path + "/MANIFEST.json").ok());
  ASSERT_TRUE(prune(*files, {.last = 1, .drop_damaged = true}).ok());
  EXPECT_EQ(look_at_all(*files, kFolder).value().size(), 2U);
  EXPECT_FALSE(files->list(path).value().empty());
  ASSERT_TRUE(prune(*files, {.last = 1, .drop_lost = true}).ok());
  EXPECT_EQ(look_at_all(*files, kFolder).value().size(), 1U);
}

TEST(PruneCrash, LatestNeverNamesWhatIsGone) {
  for (std::size_t n = 0;; ++n) {
    const auto files = with_checkpoints(3);
    files->damage(std::string(kFolder) + "/step-00000003-000003/MANIFEST.json", 30, 1);
    files->lose_power_at(n);
    const bool done = prune(*files, {.last = 1, .drop_damaged = true}).ok();
    each_crash_state(*files, [&](SimFileSystem& after) {
      const std::string latest =
          base::read_all(after, std::string(kFolder) + "/LATEST", 100).value();
      const std::string path = std::string(kFolder) + "/" + latest.substr(0, latest.size() - 1);
      EXPECT_TRUE(is_checkpoint(after, path)) << latest << " call " << n;
    });
    if (done || HasFailure()) break;
  }
}

std::string latest_in(base::FileSystem& files) {
  const auto text = base::read_all(files, std::string(kFolder) + "/LATEST", 1000);
  return text.ok() ? text.value() : "none";
}

TEST(PruneCrash, LatestIsPutRight) {
  const std::string path = std::string(kFolder) + "/LATEST";
  const std::string right = "step-00000003-000003\n";
  const std::string long_text(999, 'x');
  for (const std::string& before : {std::string(), std::string("step-00000009-000009\n"),
                                    std::string("step-00000002-000002\n"), long_text}) {
    for (std::size_t n = 0;; ++n) {
      const auto files = with_checkpoints(3);
      if (before.empty()) {
        ASSERT_TRUE(files->remove_file(path).ok() && files->sync_folder(kFolder).ok());
      } else {
        ASSERT_TRUE(base::replace_file(*files, path, base::bytes_of(before)).ok());
      }
      files->lose_power_at(n);
      const bool done = prune(*files, {.last = 3}).ok();
      each_crash_state(*files, [&](SimFileSystem& after) {
        const std::string found = latest_in(after);
        EXPECT_TRUE(found == right || (!done && found == (before.empty() ? "none" : before)))
            << found << " call " << n;
        EXPECT_EQ(good_steps(after), (std::vector<std::uint64_t>{3, 2, 1}));
      });
      if (done || HasFailure()) break;
    }
  }
}

// A full disk has no room for LATEST: no reason not to make any, unless it names what goes.
TEST(PruneFails, ALatestThatCannotBeWritten) {
  const std::string path = std::string(kFolder) + "/LATEST";
  for (const bool names_what_goes : {false, true}) {
    const auto files = with_checkpoints(3);
    const std::string before =
        names_what_goes ? "step-00000001-000001\n" : "step-00000009-000009\n";
    ASSERT_TRUE(base::replace_file(*files, path, base::bytes_of(before)).ok());
    ASSERT_TRUE(files->make_folder(path + ".tmp").ok()) << "in the way of every new one";
    EXPECT_FALSE(prune(*files, {.last = 1}).ok());
    EXPECT_EQ(latest_in(*files), before);
    EXPECT_EQ(good_steps(*files).size(), names_what_goes ? 3U : 1U);
    ASSERT_TRUE(files->remove_folder(path + ".tmp").ok());
    EXPECT_TRUE(prune(*files, {.last = 1}).ok());
    EXPECT_EQ(latest_in(*files), "step-00000003-000003\n");
    EXPECT_EQ(good_steps(*files), (std::vector<std::uint64_t>{3}));
  }
}

TEST(AnchorCrash, ItIsAsItWasOrAsItShouldBe) {
  for (const bool set : {true, false}) {
    for (std::size_t n = 0;; ++n) {
      const auto files = with_checkpoints(2);
      const std::string path = std::string(kFolder) + "/step-00000001-000001";
      if (!set) {
        ASSERT_TRUE(set_anchor(*files, path, "").ok());
      }
      files->lose_power_at(n);
      const bool done = (set ? set_anchor(*files, path, "x") : remove_anchor(*files, path)).ok();
      each_crash_state(*files, [&](SimFileSystem& after) {
        if (done) {
          EXPECT_EQ(is_anchor(after, path), set);
        }
        EXPECT_EQ(good_steps(after), (std::vector<std::uint64_t>{2, 1})) << "call " << n;
        ASSERT_TRUE(set_anchor(after, path, "x").ok());
        EXPECT_EQ(anchor_note(after, path), "x");
      });
      if (done || HasFailure()) break;
    }
  }
}

TEST(CopyCrash, TheCopyIsThereWholeOrNotAtAll) {
  const std::string from = std::string(kFolder) + "/step-00000001-000001";
  for (std::size_t n = 0;; ++n) {
    const auto files = with_checkpoints(1);
    files->lose_power_at(n);
    const bool done = copy_checkpoint(*files, from, *files, "/jobs/other").ok();
    each_crash_state(*files, [&](SimFileSystem& after) {
      auto looks = look_at_all(after, "/jobs/other");
      const bool there = looks.ok() && !looks->empty();
      EXPECT_TRUE(there || !done) << "call " << n;
      if (there) {
        EXPECT_TRUE(verify_checkpoint(after, looks->front().path)->good()) << "call " << n;
      }
      const auto again = copy_checkpoint(after, from, after, "/jobs/other");
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(again.value().was_there, there);
    });
    if (done || HasFailure()) break;
  }
}

TEST(RestoreCrash, OutIsThereWholeOrNotAtAll) {
  const std::string from = std::string(kFolder) + "/step-00000001-000001";
  std::map<std::string, std::string> whole;
  for (std::size_t n = 0;; ++n) {
    const auto files = with_checkpoints(1);
    auto reader = CheckpointReader::open(*files, from);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    if (whole.empty()) {
      const auto other = files->after_crash([](std::size_t) { return 1.0; });
      auto second = CheckpointReader::open(*other, from);
      ASSERT_TRUE(restore_whole(*other, **second, "/jobs/out", {}).ok());
      for (const auto& [path, content] : other->contents()) {
        if (path.starts_with("/jobs/out/")) whole[path] = content;
      }
      ASSERT_EQ(whole.size(), 3U) << "the folder, a shard and the index";
    }
    files->lose_power_at(n);
    const bool done = restore_whole(*files, **reader, "/jobs/out", {}).ok();
    each_crash_state(*files, [&](SimFileSystem& after) {
      std::map<std::string, std::string> found;
      for (const auto& [path, content] : after.contents()) {
        if (path.starts_with("/jobs/out/")) found[path] = content;
      }
      EXPECT_TRUE(found == whole || (found.empty() && !done)) << "call " << n;
    });
    if (done || HasFailure()) break;
  }
}

bool has_draft(const SimFileSystem& files) {
  for (const auto& [path, content] : files.contents()) {
    if (path.find(".draft-") != std::string::npos) return true;
  }
  return false;
}

// Verbs that write into a folder of checkpoints; both make one of step 1 in /jobs/other.
using Verb = Status (*)(SimFileSystem& files);
const std::vector<std::pair<std::string, Verb>> kVerbs = {
    {"copy",
     [](SimFileSystem& files) {
       const std::string from = std::string(kFolder) + "/step-00000001-000001";
       return copy_checkpoint(files, from, files, "/jobs/other").status();
     }},
    {"restore-to --ranks", [](SimFileSystem& files) {
       auto reader = CheckpointReader::open(files, std::string(kFolder) + "/step-00000001-000001");
       if (!reader.ok()) return reader.status();
       return restore_ranks(files, **reader, "/jobs/other", 3, {}).status();
     }}};

// What is in /jobs/other is good, and what was there before is as it was.
void check_other(SimFileSystem& files, bool done, const std::string& where) {
  EXPECT_EQ(good_steps(files), (std::vector<std::uint64_t>{1})) << where;
  auto looks = look_at_all(files, "/jobs/other");
  std::size_t whole = 0;
  if (looks.ok()) {
    for (const Look& look : *looks) {
      if (look.unfinished) continue;
      EXPECT_TRUE(verify_checkpoint(files, look.path)->good()) << where << look.path;
      ++whole;
    }
  }
  EXPECT_TRUE(whole > 0 || !done) << where;
}

TEST(VerbsCrash, ThePowerMayGoBeforeEveryCall) {
  for (const auto& [name, verb] : kVerbs) {
    for (std::size_t n = 0;; ++n) {
      const auto files = with_checkpoints(1);
      files->lose_power_at(n);
      const bool done = verb(*files).ok();
      const std::string where = fmt::format("{} call {} ", name, n);
      each_crash_state(*files, [&](SimFileSystem& after) {
        check_other(after, done, where);
        EXPECT_TRUE(verb(after).ok()) << where;
        check_other(after, true, where);
      });
      if (done || ::testing::Test::HasFailure()) break;
    }
  }
}

TEST(VerbsFail, EveryCallMayFailInEveryWay) {
  for (const auto& [name, verb] : kVerbs) {
    for (const int error : {ENOSPC, EIO, EROFS}) {
      for (const bool lasting : {false, true}) {
        for (std::size_t n = 0;; ++n) {
          const auto files = with_checkpoints(1);
          files->fail(SimFileSystem::Fault{n, error, lasting, n % 2 == 0});
          const Status status = verb(*files);
          const std::size_t calls = files->calls();
          files->fail(std::nullopt);
          if (status.ok() && calls <= n) break;
          const std::string where =
              fmt::format("{} call {} errno {}{} ", name, n, error, lasting ? " lasting" : "");
          check_other(*files, status.ok(), where);
          EXPECT_TRUE(error != ENOSPC || !lasting || !has_draft(*files)) << where;
          EXPECT_TRUE(verb(*files).ok()) << where << "the next one is not held up";
          EXPECT_FALSE(has_draft(*files)) << where;
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(RestoreFails, NothingIsLeftBehind) {
  const std::string from = std::string(kFolder) + "/step-00000001-000001";
  for (std::size_t n = 0;; ++n) {
    const auto files = with_checkpoints(1);
    auto reader = CheckpointReader::open(*files, from);
    const auto before = files->contents();
    files->fail_at(n);
    const Status status = restore_whole(*files, **reader, "/jobs/out", {}).status();
    const std::size_t calls = files->calls();
    files->fail_at(std::nullopt);
    if (status.ok() && calls <= n) break;
    const auto after = files->contents();
    const bool there = after.contains("/jobs/out/");
    EXPECT_TRUE(there || after == before) << "call " << n << ": " << status.message();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace headway::checkpoint
