#include "checkpoint/load.h"

#include <cstring>

#include "base/temp_dir.h"
#include "checkpoint/test_checkpoint.h"

namespace headway::checkpoint {
namespace {

using base::SimFileSystem;
using base::Status;

// Cuts a box at random into pieces that cover it, some of them twice.
std::vector<Box> cut_at_random(const Box& box, std::mt19937& random) {
  std::vector<Box> pieces = {box};
  for (int i = 0; i < 6; ++i) {
    const std::size_t which = random() % pieces.size();
    const Box piece = pieces[which];
    const std::size_t d = random() % piece.dimensions();
    if (piece.shape[d] < 2) continue;
    const std::uint64_t at = 1 + random() % (piece.shape[d] - 1);
    Box left = piece, right = piece;
    left.shape[d] = at;
    right.offsets[d] += at;
    right.shape[d] -= at;
    pieces[which] = left;
    pieces.push_back(right);
  }
  if (random() % 2 == 0) pieces.push_back(pieces[random() % pieces.size()]);
  std::shuffle(pieces.begin(), pieces.end(), random);
  return pieces;
}

Box part_at_random(const std::vector<std::uint64_t>& shape, std::mt19937& random) {
  Box part;
  for (const std::uint64_t size : shape) {
    const std::uint64_t begin = random() % size;
    part.offsets.push_back(begin);
    part.shape.push_back(random() % (size - begin + 1));
  }
  return part;
}

std::unique_ptr<SimFileSystem> empty_files() {
  auto files = std::make_unique<SimFileSystem>();
  EXPECT_TRUE(files->make_folder("/ck").ok());
  return files;
}

TEST(CheckpointReader, AnyPartOfAnything) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::vector<std::vector<std::uint64_t>> shapes = {
        {40, 7}, {5, 6, 7}, {113}, {3, 1, 2, 4}};
    std::vector<std::vector<TestPiece>> ranks;
    for (std::size_t t = 0; t < shapes.size(); ++t) {
      // One piece of a tensor a file, as torch wants it.
      const auto pieces = cut_at_random(whole_box(shapes[t]), random);
      if (ranks.size() < pieces.size()) ranks.resize(pieces.size());
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        ranks[i].push_back({"t" + std::to_string(t), pieces[i]});
      }
    }
    const auto files = empty_files();
    const auto name = save_pieces(*files, "/ck", {}, ranks);
    ASSERT_TRUE(name.ok()) << name.status().message();
    auto reader = CheckpointReader::open(*files, "/ck/" + name.value().text());
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    ASSERT_EQ((*reader)->tensors().size(), shapes.size());
    std::vector<Want> wants;
    std::vector<std::vector<std::byte>> memory;
    for (int i = 0; i < 20; ++i) {
      const std::size_t t = random() % shapes.size();
      EXPECT_EQ((*reader)->find("t" + std::to_string(t))->shape, shapes[t]);
      const Box part = part_at_random(shapes[t], random);
      memory.emplace_back(*bytes_of_shape(DType::f32, part.shape));
      wants.push_back({"t" + std::to_string(t), part, {}});
    }
    for (std::size_t i = 0; i < wants.size(); ++i) wants[i].into = memory[i];
    for (const bool verify : {true, false}) {
      for (auto& each : memory) std::fill(each.begin(), each.end(), std::byte{0xEE});
      const Status status = (*reader)->read_all(wants, {.verify = verify});
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::size_t i = 0; i < wants.size(); ++i) {
        EXPECT_EQ(memory[i], values_of(wants[i].box))
            << "seed " << seed << " " << wants[i].name << wants[i].box.text();
      }
    }
  }
}

TEST(CheckpointReader, WhatCannotBeAskedFor) {
  const auto files = empty_files();
  const auto name = save_pieces(*files, "/ck", {}, {{{"w", {{0, 0}, {4, 3}}}, {"s", {{}, {}}}}});
  auto reader = CheckpointReader::open(*files, "/ck/" + name.value().text());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  std::vector<std::byte> memory(48);
  EXPECT_TRUE((*reader)->read("w", {{0, 0}, {4, 3}}, memory).ok());
  EXPECT_TRUE((*reader)->read("s", {{}, {}}, std::span(memory).first(4)).ok());
  EXPECT_TRUE((*reader)->read("w", {{4, 0}, {0, 3}}, {}).ok()) << "nothing, and it is there";
  for (const Box& bad : std::vector<Box>{{{1, 0}, {4, 3}},
                                         {{0}, {12}},
                                         {{0, 0}, {4}},
                                         {{5, 0}, {0, 3}},
                                         {{~std::uint64_t{0}, 0}, {2, 3}},
                                         {{0, 0}, {~std::uint64_t{0}, 3}}}) {
    EXPECT_EQ((*reader)->read("w", bad, memory).code(), base::Code::invalid_input);
  }
  EXPECT_FALSE((*reader)->read("w", {{0, 0}, {2, 3}}, memory).ok()) << "memory of another size";
  EXPECT_FALSE((*reader)->read("v", {{0, 0}, {4, 3}}, memory).ok());
}

TEST(CheckpointReader, DamageIsNamedUnlessNobodyAsks) {
  const auto files = empty_files();
  const auto name = save_pieces(*files, "/ck", {}, {{{"w", {{0, 0}, {100, 30}}}}});
  const std::string path = "/ck/" + name.value().text();
  auto reader = CheckpointReader::open(*files, path);
  files->damage(path + "/shard-0.safetensors", 5000, 4);
  std::vector<std::byte> memory(12);
  const Status status = (*reader)->read("w", {{70, 0}, {1, 3}}, memory);
  EXPECT_NE(status.message().find("shard-0.safetensors: chunk 0, bytes 0 to 16096, is damaged"),
            std::string::npos)
      << status.message();
  EXPECT_TRUE((*reader)->read_all({{"w", {{70, 0}, {1, 3}}, memory}}, {.verify = false}).ok());
  EXPECT_FALSE(CheckpointReader::open(*files, path).ok()) << "it lies in the header's chunk";
  EXPECT_TRUE(CheckpointReader::open(*files, path, false).ok());
}

// Larger than a chunk and than a job: straight reads, several threads, on a real disk.
TEST(CheckpointReader, LargeOnesByThreads) {
  const base::TempDir dir;
  base::FileSystem& files = base::real_file_system();
  const std::uint64_t columns = 1000, half = 1600;
  const auto name =
      save_pieces(files, dir.path(), {},
                  {{{"w", {{0, 0}, {half, columns}}}}, {{"w", {{half, 0}, {half, columns}}}}});
  ASSERT_TRUE(name.ok()) << name.status().message();
  auto reader = CheckpointReader::open(files, dir.path() + "/" + name.value().text());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const Box rows{{100, 0}, {2900, columns}}, block{{1000, 10}, {1500, 900}};
  std::vector<std::byte> a(rows.shape[0] * columns * 4), b(1500 * 900 * 4);
  const auto wanted_a = values_of(rows), wanted_b = values_of(block);
  for (const unsigned threads : {1U, 3U, 1000U}) {
    for (const int how : {0, 1, 2, 3}) {
      std::fill(a.begin(), a.end(), std::byte{1});
      std::fill(b.begin(), b.end(), std::byte{1});
      const Status status =
          (*reader)->read_all({{"w", rows, a}, {"w", block, b}},
                              {.verify = how % 2 == 0, .direct = how / 2 == 0, .threads = threads});
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(a == wanted_a);
      EXPECT_TRUE(b == wanted_b);
    }
  }
  // One bit in the second file: found whoever reads it.
  const std::string path = dir.path() + "/" + name.value().text() + "/shard-1.safetensors";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(5'000'000);
  file.put('\x7f');
  file.close();
  EXPECT_FALSE((*reader)->read_all({{"w", rows, a}}, {.threads = 3}).ok());
}

TEST(Parts, TogetherTheyAreTheBox) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    Box box;
    for (std::size_t d = random() % 4; d > 0; --d) {
      box.offsets.push_back(random() % 5);
      box.shape.push_back(1 + random() % 6);
    }
    const std::uint64_t max = 4 + random() % 60;
    std::vector<std::byte> all;
    each_part(box, 4, max, [&](const Box& part) {
      const auto values = values_of(part);
      EXPECT_LE(values.size(), max);
      all.insert(all.end(), values.begin(), values.end());
    });
    EXPECT_EQ(all, values_of(box)) << seed;
  }
}

TEST(Parts, RowsOfRanksAreTheWhole) {
  for (std::uint64_t rows = 1; rows < 12; ++rows) {
    for (std::uint32_t ranks = 1; ranks < 15; ++ranks) {
      std::uint64_t next = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const auto box = rows_of_rank({rows, 3}, rank, ranks);
        if (!box) continue;
        EXPECT_EQ(box->offsets[0], next);
        next = box->end(0);
      }
      EXPECT_EQ(next, rows);
    }
  }
  EXPECT_TRUE(rows_of_rank({}, 0, 2));
  EXPECT_FALSE(rows_of_rank({}, 1, 2));
  EXPECT_FALSE(rows_of_rank({0, 4}, 1, 2));
}

}  // namespace
}  // namespace headway::checkpoint
