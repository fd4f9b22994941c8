#include "record/board.h"

#include <gtest/gtest.h>

#include <barrier>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "base/temp_dir.h"

namespace headway::record {
namespace {

TEST(Board, NobodyAskedNobodyStops) {
  const base::TempDir dir;
  auto board = Board::create(dir.path() + "/board", 2);
  ASSERT_TRUE(board.ok());
  EXPECT_FALSE(board->stop_soon());
  EXPECT_FALSE(board->asks(0));
  auto rank = Board::open(dir.path() + "/board");
  ASSERT_TRUE(rank.ok());
  EXPECT_FALSE(rank->should_stop(0, 7));
  EXPECT_TRUE(board->asks(0));
  EXPECT_EQ(board->latest(), 7);
}

TEST(Board, StopsAfterTheStepThatWasDecided) {
  const base::TempDir dir;
  auto board = Board::create(dir.path() + "/board", 1);
  auto rank = Board::open(dir.path() + "/board");
  ASSERT_TRUE(board.ok() && rank.ok());
  EXPECT_FALSE(rank->should_stop(0, 7));
  EXPECT_EQ(board->stop_soon(), 9);
  EXPECT_FALSE(rank->should_stop(0, 8));
  EXPECT_TRUE(rank->should_stop(0, 9));
  EXPECT_TRUE(rank->should_stop(0, 10)) << "a script that did not listen is told again";
}

TEST(Board, AFileThatIsNoneIsRefused) {
  const base::TempDir dir;
  const std::string path = dir.path() + "/board";
  EXPECT_FALSE(Board::open(path).ok());
  for (const std::string& text : {std::string(), std::string("x"), std::string(64, 'x'),
                                  std::string("HWBOARD1") + std::string(56, '\xff')}) {
    std::ofstream(path) << text;
    EXPECT_FALSE(Board::open(path).ok());
  }
}

// Ranks meet after each step, as in a collective, and the agent comes at a moment of chance. Who
// stops must stop after the same step, or the others would wait for ever.
TEST(Board, AllRanksStopAfterTheSameStep) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const base::TempDir dir;
    constexpr int kRanks = 4;
    auto board = Board::create(dir.path() + "/board", kRanks);
    ASSERT_TRUE(board.ok());
    std::vector<std::int64_t> stopped(kRanks, 0);
    std::barrier meet(kRanks);
    std::vector<std::thread> ranks;
    for (int r = 0; r < kRanks; ++r) {
      ranks.emplace_back([&, r] {
        auto mine = Board::open(dir.path() + "/board");
        for (std::int64_t step = 1;; ++step) {
          meet.arrive_and_wait();
          if (mine->should_stop(static_cast<std::uint32_t>(r), step)) {
            stopped[static_cast<std::size_t>(r)] = step;
            meet.arrive_and_drop();
            return;
          }
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    std::optional<std::int64_t> step;
    while (!step) step = board->stop_soon();
    for (std::thread& rank : ranks) rank.join();
    for (const std::int64_t at : stopped) ASSERT_EQ(at, *step);
  }
}

}  // namespace
}  // namespace headway::record
