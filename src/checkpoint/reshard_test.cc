#include "checkpoint/reshard.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace headway::checkpoint {
namespace {

using Values = std::vector<std::uint16_t>;

std::uint64_t elements(const Box& box) {
  return std::accumulate(box.shape.begin(), box.shape.end(), std::uint64_t{1},
                         [](std::uint64_t a, std::uint64_t b) { return a * b; });
}

// A value for every element of a whole tensor, by its place; taken out of it element by element.
Values cut(const Box& box) {
  Values values;
  std::vector<std::uint64_t> at(box.dimensions(), 0);
  for (std::uint64_t n = 0; n < elements(box); ++n) {
    std::uint64_t rest = n;
    std::uint64_t value = 1;
    for (std::size_t d = box.dimensions(); d-- > 0;) {
      at[d] = rest % box.shape[d];
      rest /= box.shape[d];
    }
    for (std::size_t d = 0; d < box.dimensions(); ++d) value = value * 31 + box.offsets[d] + at[d];
    values.push_back(static_cast<std::uint16_t>(value));
  }
  return values;
}

Values assemble(const Box& wanted, const std::vector<Box>& pieces, std::size_t* runs = nullptr) {
  const auto portions = plan_portions(wanted, pieces);
  EXPECT_TRUE(portions.ok()) << portions.status().message();
  Values out(elements(wanted), 0);
  std::uint64_t copied = 0;
  for (const Portion& portion : portions.value()) {
    const Values piece = cut(pieces[portion.piece]);
    each_run(portion.part, pieces[portion.piece], wanted, sizeof(std::uint16_t),
             [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
               ASSERT_LE(from + bytes, piece.size() * 2);
               ASSERT_LE(to + bytes, out.size() * 2);
               for (std::uint64_t i = 0; i < bytes / 2; ++i) out[to / 2 + i] = piece[from / 2 + i];
               copied += bytes / 2;
               if (runs != nullptr) ++*runs;
             });
  }
  EXPECT_EQ(copied, out.size()) << "every element once";
  return out;
}

TEST(Reshard, RowsAreOneRunAndColumnsOneARow) {
  const std::vector<Box> by_rows = {{{0, 0}, {4, 8}}, {{4, 0}, {4, 8}}};
  std::size_t runs = 0;
  EXPECT_EQ(assemble({{2, 0}, {4, 8}}, by_rows, &runs), cut({{2, 0}, {4, 8}}));
  EXPECT_EQ(runs, 2U);
  runs = 0;
  EXPECT_EQ(assemble({{0, 2}, {8, 3}}, by_rows, &runs), cut({{0, 2}, {8, 3}}));
  EXPECT_EQ(runs, 8U);
  runs = 0;
  EXPECT_EQ(assemble({{0, 0}, {8, 8}}, {{{0, 0}, {8, 8}}}, &runs), cut({{0, 0}, {8, 8}}));
  EXPECT_EQ(runs, 1U);
}

TEST(Reshard, ScalarsAndNothing) {
  EXPECT_EQ(assemble({}, {{}}), cut({}));
  EXPECT_TRUE(plan_portions({{0, 3}, {0, 4}}, {}).value().empty()) << "nothing is wanted";
  EXPECT_FALSE(plan_portions({}, {}).ok());
}

TEST(Reshard, WhatIsMissingIsNamed) {
  const auto plan = plan_portions({{0, 0}, {8, 4}}, {{{0, 0}, {4, 4}}, {{6, 0}, {2, 4}}});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().message(), "[4:6, 0:4] of [0:8, 0:4] is in none of the 2 pieces");
  EXPECT_FALSE(plan_portions({{0}, {4}}, {{{0, 0}, {4, 1}}}).ok()) << "of another tensor";
}

// Splits a box at random, so that the parts are the whole.
std::vector<Box> split(const Box& whole, std::mt19937& random) {
  std::vector<Box> boxes = {whole};
  for (auto cuts = random() % 6; cuts > 0 && whole.dimensions() > 0; --cuts) {
    const std::size_t i = random() % boxes.size();
    const std::size_t d = random() % whole.dimensions();
    if (boxes[i].shape[d] < 2) continue;
    const std::uint64_t front = 1 + random() % (boxes[i].shape[d] - 1);
    Box back = boxes[i];
    back.offsets[d] += front;
    back.shape[d] -= front;
    boxes[i].shape[d] = front;
    boxes.push_back(std::move(back));
  }
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

TEST(Reshard, AnyPiecesIntoAnyOthers) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    Box whole;
    for (auto d = random() % 5; d > 0; --d) {
      whole.offsets.push_back(0);
      whole.shape.push_back(1 + random() % 7);
    }
    std::vector<Box> pieces = split(whole, random);
    const std::vector<Box> copies = split(whole, random);  // replicas beside them
    if (random() % 2 == 0) pieces.insert(pieces.end(), copies.begin(), copies.end());
    for (const Box& wanted : split(whole, random)) {
      ASSERT_EQ(assemble(wanted, pieces), cut(wanted))
          << "seed " << seed << " round " << round << ": " << wanted.text();
    }
    pieces = split(whole, random);
    pieces.pop_back();
    EXPECT_FALSE(plan_portions(whole, pieces).ok()) << "seed " << seed << " round " << round;
  }
}

}  // namespace
}  // namespace headway::checkpoint
