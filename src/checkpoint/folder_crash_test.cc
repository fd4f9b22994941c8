// A save that fails or loses its power before any of its calls: the folder holds the old newest
// checkpoint or the new one, whole and nothing else, whatever part of the unsynced has survived;
// and one that was said to be durable is there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/sim_file_system.h"
#include "checkpoint/folder.h"
#include "checkpoint/test_checkpoint.h"

namespace headway::checkpoint {
namespace {

using base::SimFileSystem;
using base::Status;

constexpr std::size_t kFileBytes = 3000;  // several sectors
constexpr int kRandomStates = 40;

std::string content_of(std::uint64_t step, int file) {
  std::string text;
  while (text.size() < kFileBytes)
    text += fmt::format("step {} file {} byte {};", step, file, text.size());
  return text.substr(0, kFileBytes);
}

std::string file_name(int file) {
  return fmt::format("shard-{:05}.safetensors", file);
}

Status save(base::FileSystem& files, std::uint64_t step) {
  CheckpointFolder folder(files, "/jobs/ck");
  Manifest facts;
  facts.step = step;
  facts.world_size = 2;
  auto draft = Draft::begin(folder, facts);
  if (!draft.ok()) return draft.status();
  for (int i = 0; i < 2; ++i) {
    const std::string content = content_of(step, i);
    auto file = (*draft)->add(file_name(i), static_cast<std::uint32_t>(i), {});
    if (!file.ok()) return file.status();
    for (const std::size_t half : {std::size_t{0}, kFileBytes / 2}) {
      const auto piece = std::string_view(content).substr(half, kFileBytes / 2);
      if (Status status = (*file)->write(base::bytes_of(piece)); !status.ok()) return status;
    }
    if (Status status = (*file)->finish(); !status.ok()) return status;
  }
  return (*draft)->commit().status();
}

// The step that is found, and that all of it is right.
std::uint64_t found_step(base::FileSystem& files, bool deep) {
  const CheckpointFolder folder(files, "/jobs/ck");
  std::vector<std::string> passed;
  auto good = folder.newest_good(deep, passed);
  EXPECT_TRUE(good.ok()) << good.status().message();
  expect_no_traces(files, "/jobs/ck");
  if (!good.ok() || !good.value()) return 0;
  const Manifest& manifest = good.value()->manifest;
  EXPECT_EQ(manifest.files.size(), 2U);
  for (int i = 0; i < 2; ++i) {
    const std::string path = folder.path_of(good.value()->name) + "/" + file_name(i);
    const auto text = base::read_all(files, path, kFileBytes);
    EXPECT_TRUE(text.ok() && text.value() == content_of(manifest.step, i)) << path;
  }
  return manifest.step;
}

// Scripts that go by LATEST find a whole one too.
void check_latest(base::FileSystem& files) {
  const CheckpointFolder folder(files, "/jobs/ck");
  const auto latest = base::read_all(files, "/jobs/ck/LATEST", 100);
  ASSERT_TRUE(latest.ok()) << latest.status().message();
  const auto name = CheckpointName::parse(latest.value().substr(0, latest.value().size() - 1));
  EXPECT_TRUE(name && folder.verify(*name).ok()) << latest.value();
}

std::unique_ptr<SimFileSystem> with_one_checkpoint() {
  auto files = std::make_unique<SimFileSystem>();
  EXPECT_TRUE(files->make_folder("/jobs").ok());
  EXPECT_TRUE(files->sync_folder("/").ok());
  EXPECT_TRUE(save(*files, 10).ok());
  return files;
}

std::size_t calls_of_a_save() {
  const auto files = with_one_checkpoint();
  files->fail_at(std::nullopt);
  EXPECT_TRUE(save(*files, 20).ok());
  return files->calls();
}

TEST(FolderCrash, EveryCallMayFail) {
  const std::size_t calls = calls_of_a_save();
  ASSERT_GT(calls, 20U);
  for (std::size_t n = 0; n < calls; ++n) {
    const auto files = with_one_checkpoint();
    files->fail_at(n);
    const Status status = save(*files, 20);
    files->fail_at(std::nullopt);
    const std::uint64_t step = found_step(*files, true);
    EXPECT_TRUE(step == 20 || (step == 10 && !status.ok())) << "call " << n << ": step " << step;
    EXPECT_TRUE(save(*files, 30).ok()) << "call " << n << ": the next one is not held up";
    EXPECT_EQ(found_step(*files, true), 30U);
    for (const auto& [path, content] : files->contents()) {
      EXPECT_EQ(path.find("draft"), std::string::npos) << "call " << n << " left " << path;
    }
  }
}

void check_states(const SimFileSystem& files, bool durable, const std::string& where) {
  const std::size_t ends = files.loose_ends();
  std::vector<std::function<double(std::size_t)>> states = {[](std::size_t) { return 0.0; },
                                                            [](std::size_t) { return 1.0; }};
  for (std::size_t one = 0; one < ends; ++one) {
    for (const double kept : {0.0, 0.4, -0.4, 1.0}) {
      states.emplace_back([=](std::size_t i) { return i == one ? kept : 1.0; });
      states.emplace_back([=](std::size_t i) { return i == one ? kept : 0.0; });
    }
  }
  for (int seed = 0; seed < kRandomStates; ++seed) {
    states.emplace_back([random = std::mt19937(static_cast<unsigned>(seed))](std::size_t) mutable {
      constexpr std::array kDraws = {0.0, 0.5, -0.5, 1.0, 1.0};
      return kDraws[random() % kDraws.size()];
    });
  }
  for (std::size_t state = 0; state < states.size(); ++state) {
    const auto after = files.after_crash(states[state]);
    const std::uint64_t step = found_step(*after, false);  // the manifest alone must be enough
    EXPECT_TRUE(step == 20 || (step == 10 && !durable))
        << where << ", state " << state << ": step " << step;
    EXPECT_EQ(found_step(*after, true), step) << where << ", state " << state;
    check_latest(*after);
    EXPECT_TRUE(save(*after, 30).ok()) << where << ", state " << state;
    EXPECT_EQ(found_step(*after, true), 30U);
  }
}

TEST(FolderCrash, ThePowerMayGoBeforeEveryCall) {
  const std::size_t calls = calls_of_a_save();
  for (std::size_t n = 0; n <= calls; ++n) {
    const auto files = with_one_checkpoint();
    files->lose_power_at(n);
    const Status status = save(*files, 20);
    check_states(*files, status.ok(), fmt::format("call {}", n));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(FolderCrash, ARemovalCutShortLeavesNoHalf) {
  const std::string going = "/jobs/ck/" + CheckpointName{10, 1}.text();
  for (std::size_t n = 0;; ++n) {
    const auto files = with_one_checkpoint();
    ASSERT_TRUE(save(*files, 20).ok());
    files->lose_power_at(n);
    const bool done = remove_checkpoint(*files, going).ok();
    each_crash_state(*files, [&](SimFileSystem& after) {
      EXPECT_EQ(found_step(after, true), 20U) << n;
      auto names = CheckpointFolder(after, "/jobs/ck").list();
      ASSERT_TRUE(names.ok()) << n;
      for (const CheckpointName& name : *names) {
        EXPECT_TRUE(CheckpointFolder(after, "/jobs/ck").verify(name).ok()) << n << name.text();
      }
      EXPECT_TRUE(save(after, 30).ok()) << n;
      for (const auto& [path, content] : after.contents()) {
        EXPECT_EQ(path.find("removing"), std::string::npos) << "call " << n << " left " << path;
      }
    });
    if (done || HasFailure()) break;
  }
}

// Whoever comes after somebody who lost manifests leaves what there is.
TEST(FolderCrash, FilesWithoutTheirManifestStay) {
  const auto files = with_one_checkpoint();
  const std::string path = "/jobs/ck/" + CheckpointName{10, 1}.text();
  ASSERT_TRUE(files->remove_file(path + "/MANIFEST.json").ok());
  for (const std::uint64_t step : {20, 30, 40}) ASSERT_TRUE(save(*files, step).ok());
  for (int i = 0; i < 2; ++i) {
    const auto text = base::read_all(*files, path + "/" + file_name(i), kFileBytes);
    EXPECT_TRUE(text.ok() && text.value() == content_of(10, i));
  }
  const auto traces = find_traces(*files, "/jobs/ck");
  ASSERT_TRUE(traces.ok() && traces.value().size() == 1);
  EXPECT_NE(traces.value()[0].text.find(path + ": holds files and no MANIFEST.json"),
            std::string::npos);
}

TEST(Traces, WhatLatestNamesAndWhatIsInAFoldersPlace) {
  const auto files = with_one_checkpoint();
  ASSERT_TRUE(save(*files, 20).ok());
  expect_no_traces(*files, "/jobs/ck");
  expect_no_traces(*files, "/jobs/none");
  ASSERT_TRUE(files->make_folder("/jobs/ck/step-00000005-000009").ok()) << "nothing is in it";
  expect_no_traces(*files, "/jobs/ck");
  const std::string path = "/jobs/ck/" + CheckpointName{20, 2}.text();
  ASSERT_TRUE(remove_checkpoint(*files, path).ok());
  auto traces = find_traces(*files, "/jobs/ck");
  ASSERT_TRUE(traces.ok() && traces.value().size() == 1);
  EXPECT_NE(traces.value()[0].text.find("/jobs/ck/LATEST: names step-00000020-000002"),
            std::string::npos);
  ASSERT_TRUE(base::replace_file(*files, path, base::bytes_of("x")).ok());
  traces = find_traces(*files, "/jobs/ck");
  ASSERT_TRUE(traces.ok() && traces.value().size() == 1);
  EXPECT_NE(traces.value()[0].text.find(path + ": a file where"), std::string::npos);
  ASSERT_TRUE(save(*files, 30).ok());
  EXPECT_EQ(find_traces(*files, "/jobs/ck").value().size(), 1U) << "LATEST is right again";
}

TEST(FolderCrash, NoByteOfACheckpointCanChangeUnseen) {
  const auto fresh = with_one_checkpoint();
  ASSERT_TRUE(save(*fresh, 20).ok());
  for (const auto& [path, content] : fresh->contents()) {
    if (path.find(CheckpointName{20, 2}.text() + "/") == std::string::npos) continue;
    for (std::size_t at = 0; at < content.size(); at += 7) {
      const auto files = fresh->after_crash([](std::size_t) { return 1.0; });
      files->damage(path, at, static_cast<unsigned char>(1U << at % 8));
      EXPECT_EQ(found_step(*files, true), 10U) << path << " byte " << at;
    }
  }
}

}  // namespace
}  // namespace headway::checkpoint
