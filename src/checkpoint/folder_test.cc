#include "checkpoint/folder.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace headway::checkpoint {
namespace {

CheckpointName save(CheckpointFolder& folder, std::uint64_t step, std::size_t bytes) {
  Manifest facts;
  facts.step = step;
  auto draft = Draft::begin(folder, facts);
  EXPECT_TRUE(draft.ok()) << draft.status().message();
  auto file = (*draft)->add("a.safetensors", 0, {.bytes = bytes, .direct = true});
  EXPECT_TRUE(file.ok()) << file.status().message();
  const std::vector<std::byte> data(bytes, std::byte{7});
  EXPECT_TRUE((*file)->write(data).ok());
  EXPECT_TRUE((*file)->finish().ok());
  auto name = (*draft)->commit();
  EXPECT_TRUE(name.ok()) << name.status().message();
  return name.ok() ? name.value() : CheckpointName();
}

TEST(CheckpointName, ThereAndBack) {
  const CheckpointName name{100, 7};
  EXPECT_EQ(name.text(), "step-00000100-000007");
  EXPECT_EQ(CheckpointName::parse(name.text())->sequence, 7U);
  EXPECT_EQ((CheckpointName{12'345'678'901, 1}.text()), "step-12345678901-000001");
  for (const char* text :
       {"step-1-000001", "step-00000001", "step-00000001-x", "LATEST",
        "step-00000001-00000000000000000000000001", ".draft-step-00000001-000001"}) {
    EXPECT_FALSE(CheckpointName::parse(text)) << text;
  }
}

TEST(CheckpointFolder, OnARealDisk) {
  const base::TempDir dir;
  CheckpointFolder folder(base::real_file_system(), dir.path() + "/deep/er/ck");
  std::vector<std::string> passed;
  EXPECT_TRUE(folder.list().value().empty());
  EXPECT_FALSE(folder.newest_good(true, passed).value());
  save(folder, 100, 9'000'001);
  save(folder, 200, 0);
  const CheckpointName back = save(folder, 150, 5000);  // the job had gone back
  EXPECT_EQ(folder.list().value().front().text(), "step-00000150-000003");
  const auto good = folder.newest_good(true, passed);
  ASSERT_TRUE(good.value());
  EXPECT_EQ(good.value()->manifest.step, 150U) << "the newest, not the furthest";
  EXPECT_TRUE(passed.empty());
  EXPECT_EQ(base::read_all(base::real_file_system(), folder.path() + "/LATEST", 100).value(),
            back.text() + "\n");
  const std::vector<CheckpointName> names = folder.list().value();
  for (const CheckpointName& name : names) EXPECT_TRUE(folder.verify(name).ok()) << name.text();
  EXPECT_TRUE(remove_checkpoint(base::real_file_system(), folder.path_of(back)).ok());
  EXPECT_EQ(folder.newest_good(true, passed).value()->manifest.step, 200U);
}

TEST(CheckpointFolder, WhatIsPassedOverIsNamed) {
  const base::TempDir dir;
  CheckpointFolder folder(base::real_file_system(), dir.path() + "/ck");
  save(folder, 1, 100);
  const CheckpointName second = save(folder, 2, 100);
  dir.write("ck/" + second.text() + "/a.safetensors", std::string(99, 'x'));
  std::vector<std::string> passed;
  EXPECT_EQ(folder.newest_good(false, passed).value()->name.step, 1U);
  ASSERT_EQ(passed.size(), 1U);
  EXPECT_NE(passed[0].find("a.safetensors: 99 bytes, its manifest says 100"), std::string::npos);
}

TEST(CheckpointFolder, ADraftThatIsGivenUpLeavesNothing) {
  const base::TempDir dir;
  CheckpointFolder folder(base::real_file_system(), dir.path() + "/ck");
  {
    auto draft = Draft::begin(folder, {});
    ASSERT_TRUE(draft.ok());
    auto file = (*draft)->add("a", 0, {});
    ASSERT_TRUE(file.ok());
  }
  EXPECT_TRUE(base::real_file_system().list(folder.path()).value().empty());
}

}  // namespace
}  // namespace headway::checkpoint
