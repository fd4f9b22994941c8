#include "checkpoint/shard.h"

#include <gtest/gtest.h>

#include <random>

#include "base/temp_dir.h"
#include "checkpoint/folder.h"
#include "checkpoint/load.h"

namespace headway::checkpoint {
namespace {

TEST(Shard, WhatSeveralWroteIsOneCheckpoint) {
  constexpr unsigned kSeed = 20261119;
  std::mt19937 random(kSeed);
  const base::TempDir dir;
  base::FileSystem& files = base::real_file_system();
  CheckpointFolder folder(files, dir.path() + "/c");
  Manifest facts;
  facts.step = 3;
  facts.world_size = 2;
  auto draft = Draft::begin(folder, facts);
  ASSERT_TRUE(draft.ok());
  std::vector<std::vector<std::byte>> memory;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    std::vector<Piece> pieces = {{"table", DType::f32, {5'000'000, 1}, {rank * 5'000'000, 0}},
                                 {"own" + std::to_string(rank), DType::u8, {3}, {0}},
                                 {"none" + std::to_string(rank), DType::u8, {0}, {0}}};
    std::vector<const std::byte*> sources;
    for (const std::size_t bytes : {20'000'000, 3, 0}) {
      memory.emplace_back(bytes);
      for (auto& byte : memory.back()) byte = static_cast<std::byte>(random());
      sources.push_back(memory.back().data());
    }
    auto entry =
        write_shard(files, (*draft)->path(), "rank-" + std::to_string(rank), rank, pieces, sources);
    ASSERT_TRUE(entry.ok()) << entry.status().message();
    (*draft)->take(std::move(*entry));
  }
  auto name = (*draft)->commit();
  ASSERT_TRUE(name.ok()) << name.status().message();
  EXPECT_TRUE(folder.verify(*name).ok()) << folder.verify(*name).message();
}

TEST(Shard, ItReadsBack) {
  const base::TempDir dir;
  base::FileSystem& files = base::real_file_system();
  CheckpointFolder folder(files, dir.path());
  auto draft = Draft::begin(folder, {});
  ASSERT_TRUE(draft.ok());
  std::vector<float> values(9'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const auto* source = reinterpret_cast<const std::byte*>(values.data());
  auto entry = write_shard(files, (*draft)->path(), "a.safetensors", 0,
                           {{"v", DType::f32, {9'000'000}, {0}}}, {&source, 1});
  ASSERT_TRUE(entry.ok()) << entry.status().message();
  (*draft)->take(std::move(*entry));
  auto name = (*draft)->commit();
  ASSERT_TRUE(name.ok());
  auto reader = CheckpointReader::open(files, folder.path_of(*name));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  std::vector<float> back(1000);
  ASSERT_TRUE(
      (*reader)->read("v", {{8'000'000}, {1000}}, std::as_writable_bytes(std::span(back))).ok());
  for (std::size_t i = 0; i < back.size(); ++i) EXPECT_EQ(back[i], values[8'000'000 + i]);
}

TEST(Shard, ADraftThatIsGoneIsAnError) {
  const base::TempDir dir;
  const std::byte* source = nullptr;
  const auto entry = write_shard(base::real_file_system(), dir.path() + "/missing", "a", 0,
                                 {{"v", DType::f32, {0}, {0}}}, {&source, 1});
  ASSERT_FALSE(entry.ok());
  EXPECT_NE(entry.status().message().find("missing/a"), std::string::npos);
}

}  // namespace
}  // namespace headway::checkpoint
