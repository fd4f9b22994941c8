#include "replica/slot.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/temp_dir.h"
#include "replica/copy_team.h"

namespace headway::replica {
namespace {

class SlotTest : public testing::Test {
 protected:
  std::shared_ptr<Slot> make(std::uint64_t bytes) {
    auto slot = Slot::create(dir_.path() + "/slot", bytes);
    EXPECT_TRUE(slot.ok()) << slot.status().message();
    const base::Status allocated = (*slot)->allocate([] { return true; });
    EXPECT_TRUE(allocated.ok()) << allocated.message();
    return *slot;
  }
  SlotFacts filled(Slot& slot, std::uint64_t step) {
    EXPECT_TRUE(slot.try_begin());
    SlotFacts facts;
    facts.step = step;
    facts.sequence = step;
    facts.own = {0, 5'000'000};
    facts.rest = {5'001'216, 5'001'300};
    std::memset(slot.image().data(), static_cast<int>(step), slot.image().size());
    const auto chunks = chunks_of(facts.own, facts.rest);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      std::vector<char> same(chunks[i].bytes(), static_cast<char>(step));
      slot.checksums()[i] = base_crc(same);
    }
    return facts;
  }
  static std::uint32_t base_crc(const std::vector<char>& bytes);

  base::TempDir dir_;
  CopyTeam team_{2};
};

std::uint32_t SlotTest::base_crc(const std::vector<char>& bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

TEST_F(SlotTest, WhatOneSealsAnotherReads) {
  const auto writer = make(6'000'000);
  const SlotFacts facts = filled(*writer, 7);
  const auto reader = Slot::open(writer->path());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_FALSE(reader.value()->facts()) << "not sealed yet";
  writer->seal(facts, false);
  ASSERT_EQ(reader.value()->facts(), facts);
  EXPECT_TRUE(reader.value()->verify(facts, team_).ok());
  writer->image()[5'001'299] = std::byte{0};
  EXPECT_EQ(reader.value()->verify(facts, team_).message(),
            writer->path() + ": damaged between bytes 5001216 and 5001300");
}

TEST_F(SlotTest, APinnedOneIsNotWrittenInto) {
  const auto slot = make(6'000'000);
  slot->seal(filled(*slot, 1), true);
  EXPECT_EQ(slot->state(), SlotState::pinned);
  EXPECT_FALSE(slot->try_begin());
  EXPECT_FALSE(slot->try_adopt());
  slot->unpin();
  EXPECT_TRUE(slot->try_begin());
  EXPECT_FALSE(slot->try_pin()) << "it is being written";
  EXPECT_TRUE(slot->try_begin()) << "a successor may begin where one died";
  EXPECT_TRUE(slot->try_adopt());
  EXPECT_FALSE(slot->try_begin());
  slot->clear();
  EXPECT_EQ(slot->state(), SlotState::empty);
}

TEST_F(SlotTest, FactsThatWereChangedAreNone) {
  const auto slot = make(6'000'000);
  slot->seal(filled(*slot, 3), false);
  ASSERT_TRUE(slot->facts());
  auto* bytes = reinterpret_cast<unsigned char*>(slot->image().data()) - 8192;
  for (std::size_t i = 24; i < 32 + sizeof(SlotFacts); ++i) {  // checksum of the facts, facts
    if (i >= 28 && i < 32) continue;                           // unused
    bytes[i] ^= 0x10;
    EXPECT_FALSE(slot->facts()) << i;
    bytes[i] ^= 0x10;
  }
  slot->checksums()[0] ^= 1;
  EXPECT_FALSE(slot->facts());
}

TEST_F(SlotTest, WhatSomebodyCutOrRemovedIsKnown) {
  const auto slot = make(6'000'000);
  EXPECT_TRUE(slot->is_intact());
  const auto bytes = std::filesystem::file_size(slot->path());
  std::filesystem::resize_file(slot->path(), 4096);
  EXPECT_FALSE(slot->is_intact());
  std::filesystem::resize_file(slot->path(), bytes);
  EXPECT_TRUE(slot->is_intact());
  std::filesystem::remove(slot->path());
  EXPECT_FALSE(slot->is_intact()) << "nobody else would find what is put there";
}

TEST_F(SlotTest, OtherFilesAreRefused) {
  EXPECT_FALSE(Slot::open(dir_.write("short", "HWSLOT03")).ok());
  EXPECT_FALSE(Slot::open(dir_.write("other", std::string(100'000, 'x'))).ok());
  const auto slot = make(10'000);
  EXPECT_FALSE(Slot::create(slot->path(), 10'000).ok()) << "it is there already";
  EXPECT_FALSE(Slot::create(dir_.path() + "/huge", std::uint64_t{1} << 50).ok());
  EXPECT_EQ(slot->capacity(), 12288U);
}

}  // namespace
}  // namespace headway::replica
