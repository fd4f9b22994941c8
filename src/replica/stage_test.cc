#include "replica/stage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "base/temp_dir.h"

namespace headway::replica {
namespace {

using checkpoint::DType;

// Any layout, any sizes: what is in the image is what was in memory, and the checksums are right.
TEST(Stage, AnythingComesOutAsItWentIn) {
  constexpr unsigned kSeed = 20261118;
  std::mt19937 random(kSeed);
  const base::TempDir dir;
  CopyTeam team(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<ImagePiece> pieces;
    std::vector<std::vector<std::byte>> memory;
    const std::size_t count = 1 + random() % 20;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bytes = random() % 4 == 0 ? random() % 9'000'000 : random() % 5000;
      pieces.push_back({{"t" + std::to_string(i), DType::u8, {bytes}, {0}}, random() % 3 != 0});
      memory.emplace_back(bytes);
      for (auto& byte : memory.back()) byte = static_cast<std::byte>(random());
    }
    auto plan = plan_image(pieces);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const Stage stage(std::move(*plan));
    auto slot = Slot::create(dir.path() + "/slot-" + std::to_string(round), stage.plan().bytes);
    ASSERT_TRUE(slot.ok());
    ASSERT_TRUE((*slot)->try_begin());
    std::vector<Source> sources;
    for (std::size_t i = 0; i < count; ++i) {
      const bool there = random() % 5 == 0;  // as one that came from a device
      const Range& place = stage.plan().places[i];
      if (there && !memory[i].empty()) {
        std::memcpy((*slot)->image().data() + place.begin, memory[i].data(), memory[i].size());
      }
      sources.push_back({.at = there ? nullptr : memory[i].data()});
    }
    stage.fill(**slot, sources, team);
    SlotFacts facts;
    facts.own = stage.plan().own.range;
    facts.rest = stage.plan().rest.range;
    (*slot)->seal(facts, false);
    ASSERT_TRUE((*slot)->facts());
    EXPECT_TRUE((*slot)->verify(facts, team).ok());
    for (std::size_t i = 0; i < count; ++i) {
      const Range& place = stage.plan().places[i];
      ASSERT_EQ(place.bytes(), memory[i].size());
      EXPECT_TRUE(std::equal(memory[i].begin(), memory[i].end(),
                             (*slot)->image().begin() + static_cast<std::ptrdiff_t>(place.begin)));
    }
    const std::string& head = stage.plan().own.plan.head;
    EXPECT_EQ(std::memcmp((*slot)->image().data(), head.data(), head.size()), 0);
  }
}

TEST(CopyTeam, EveryPieceOnceRoundAfterRound) {
  CopyTeam team(4);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(round % 50));
    team.run(seen.size(), [&](std::size_t i) { seen[i].fetch_add(1); });
    for (const auto& times : seen) ASSERT_EQ(times.load(), 1);
  }
}

}  // namespace
}  // namespace headway::replica
