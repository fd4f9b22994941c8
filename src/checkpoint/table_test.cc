#include "checkpoint/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headway::checkpoint {
namespace {

FileHeader file_with(std::size_t index, std::vector<Piece> pieces) {
  FileHeader file{index, "f" + std::to_string(index), {}};
  for (Piece& piece : pieces) file.header.pieces.push_back({std::move(piece), 4096, 8192});
  return file;
}

std::string error_of(const std::vector<FileHeader>& files) {
  const auto table = make_table(files, "ck");
  return table.ok() ? "" : table.status().message();
}

TEST(Table, PiecesMakeUpWholes) {
  const auto table =
      make_table({file_with(0, {{"b", DType::f32, {2, 3}, {2, 0}}, {"a", DType::i64, {}, {}}}),
                  file_with(1, {{"b", DType::f32, {2, 3}, {0, 0}}})},
                 "ck");
  ASSERT_TRUE(table.ok()) << table.status().message();
  ASSERT_EQ(table.value().size(), 2U);
  EXPECT_EQ(table.value()[0].name, "a");
  EXPECT_EQ(table.value()[0].bytes, 8U);
  const TensorInfo& b = table.value()[1];
  EXPECT_EQ(b.shape, (std::vector<std::uint64_t>{4, 3}));
  EXPECT_EQ(b.bytes, 48U);
  EXPECT_EQ(b.pieces[0].file, 1U) << "by offsets";
}

TEST(Table, WhatDoesNotFitIsNamed) {
  const Piece first{"t", DType::f32, {2, 2}, {0, 0}};
  EXPECT_EQ(error_of({file_with(0, {first})}), "");
  EXPECT_EQ(error_of({file_with(0, {first}), file_with(1, {first})}), "") << "the same twice";
  EXPECT_NE(error_of({file_with(0, {first}), file_with(1, {{"t", DType::f16, {2, 2}, {0, 0}}})})
                .find("ck/f1: tensor t: F16 here, F32 in f0"),
            std::string::npos);
  EXPECT_NE(error_of({file_with(0, {first}), file_with(1, {{"t", DType::f32, {1, 2}, {4, 0}}})})
                .find("[2:4, 0:2]"),
            std::string::npos);
  EXPECT_NE(error_of({file_with(0, {first}), file_with(1, {{"t", DType::f32, {1, 1}, {1, 2}}})})
                .find("[0:1, 2:3]"),
            std::string::npos);
  EXPECT_NE(error_of({file_with(0, {{"t", DType::f32, {2}, {~std::uint64_t{0}}}})}), "");
  EXPECT_NE(error_of({file_with(0, {{"t", DType::f32, {0}, {5}}})}), "") << "five that nobody has";
}

// Thousands of lonely elements would take for ever to sort out: refused, not tried.
TEST(Table, AScatterIsRefusedSoon) {
  std::vector<FileHeader> files;
  for (std::uint64_t i = 0; i < 12'000; ++i) {
    files.push_back(file_with(i, {{"t", DType::u8, {1, 1, 1}, {i * 2, (i * 7919) % 12'000, 1}}}));
  }
  files.push_back(file_with(20'000, {{"t", DType::u8, {24'000, 12'000, 1}, {0, 0, 2}}}));
  EXPECT_NE(error_of(files).find("in no order"), std::string::npos) << error_of(files);
}

TEST(Table, ManyRanksInAnyOrderAreQuick) {
  std::vector<FileHeader> files;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    files.push_back(file_with(i, {{"t", DType::u8, {1, 4}, {i, 0}}}));
  }
  std::shuffle(files.begin(), files.end(), std::mt19937(1));
  EXPECT_EQ(error_of(files), "");
  for (std::uint64_t i = 0; i < files.size(); ++i) {
    Piece& piece = files[i].header.pieces[0].piece;  // a grid of 300 by 200
    piece.offsets = {i / 200, i % 200 * 4};
  }
  EXPECT_EQ(error_of(files), "");
}

}  // namespace
}  // namespace headway::checkpoint
