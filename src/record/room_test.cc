// Bursts of a known size between two looks of the keeper, with no keeper and no clock: how many
// records are dropped is then a number, not a matter of luck.
#include "record/room.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <limits>

#include "record/core.h"
#include "record/test_util.h"

namespace {
off_t g_fallocate_bytes_max = std::numeric_limits<off_t>::max();
}

// Stands in front of the C library's: a disk on which no more than that can be had at once.
extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (length > g_fallocate_bytes_max) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length));
}

namespace headway::record {
namespace {

using Found = Room::Found;

class RoomTest : public ::testing::Test {
 protected:
  void begin(std::uint64_t max_bytes = journal_bytes_default) {
    Settings settings;
    settings.dir = dir_.path();
    settings.stem = "room";
    settings.max_bytes = max_bytes;
    ASSERT_EQ(file_.create(settings, event::HeaderFields{}), 0);
    room_.open(&file_);
  }

  // What one tight loop does while the keeper sleeps. Returns how many were dropped.
  std::uint64_t burst(std::uint64_t records) {
    event::JournalHeader* header = file_.header();
    const std::uint64_t before = header->dropped.load();
    for (std::uint64_t i = 0; i < records; ++i) {
      put_in(header, event::EventType::step, 0, 0, 1, static_cast<std::int64_t>(i), 1);
    }
    return header->dropped.load() - before;
  }

  // One wake-up of the keeper.
  Found wake() {
    Found found = room_.look();
    for (int i = 0; i < 1000 && found == Found::behind; ++i) found = room_.look();
    EXPECT_NE(found, Found::behind) << "it never has enough";
    return found;
  }

  [[nodiscard]] std::uint64_t room() const {
    return file_.header()->limit.load() - file_.header()->cursor.load();
  }
  [[nodiscard]] std::uint64_t disk_bytes() const {
    struct stat st{};
    EXPECT_EQ(::stat(file_.path().c_str(), &st), 0);
    return static_cast<std::uint64_t>(st.st_blocks) * 512;
  }

  TempDir dir_;
  JournalFile file_;
  Room room_;
};

TEST_F(RoomTest, AQuietJournalStaysSmall) {
  begin();
  EXPECT_EQ(wake(), Found::quiet);
  EXPECT_EQ(room(), 2 * Room::lead_slots_min);
  for (int i = 0; i < 600; ++i) {
    EXPECT_EQ(burst(100), 0u);
    EXPECT_EQ(wake(), Found::busy);
  }
  EXPECT_EQ(room_.lead(), Room::lead_slots_min);
  EXPECT_LE(room(), 2 * Room::lead_slots_min);
  // 4 MiB, the header and what the file system rounds up to.
  constexpr std::uint64_t kRounding = 256 * 1024;
  EXPECT_LE(disk_bytes(), 2 * Room::lead_slots_min * sizeof(event::Record) + kRounding);
  file_.seal();
  EXPECT_LE(disk_bytes(), 60'000 * sizeof(event::Record) + kRounding);
}

TEST_F(RoomTest, TheSameBurstAgainFindsRoom) {
  begin();
  wake();
  const std::uint64_t first_room = room();
  constexpr std::uint64_t kBurst = 500'000;
  EXPECT_EQ(burst(kBurst), kBurst - first_room);  // nobody could have known
  wake();
  EXPECT_EQ(room_.lead(), 2 * kBurst);
  for (int i = 0; i < 2; ++i) {
    for (int step = 0; step < 200;
         ++step) {  // uses all that room; quiet times are no reason to forget
      EXPECT_EQ(burst(10'000), 0u);
      wake();
    }
    EXPECT_EQ(burst(kBurst), 0u) << i;
    wake();
  }
}

// A keeper that looks again before the room is used up never has to hurry after the writers.
TEST_F(RoomTest, ASteadyStreamLosesNothing) {
  begin();
  wake();
  std::uint64_t dropped = 0;
  for (int i = 0; i < 30; ++i) {
    dropped += burst(100'000);
    room_.look();
  }
  EXPECT_EQ(dropped, 0u);
}

TEST_F(RoomTest, RoomIsMadeInPiecesAndIsBounded) {
  begin();
  wake();
  burst(5'000'000);
  std::uint64_t looks = 0;
  std::uint64_t before = room();
  for (Found found = Found::behind; found == Found::behind; ++looks) {
    found = room_.look();
    EXPECT_GT(room(), before);
    EXPECT_LE(room() - before, Room::piece_slots_max);
    before = room();
  }
  EXPECT_EQ(room_.lead(), Room::lead_slots_max);
  EXPECT_EQ(room(), 2 * Room::lead_slots_max);
  EXPECT_EQ(looks, 2 * Room::lead_slots_max / Room::piece_slots_max);
  EXPECT_EQ(wake(), Found::quiet);
  EXPECT_EQ(room(), 2 * Room::lead_slots_max);
}

TEST_F(RoomTest, TheFilesBoundEndsIt) {
  constexpr std::uint64_t kSlots = 300'000;
  begin(event::kHeaderBytes + kSlots * sizeof(event::Record));
  wake();
  burst(1'000'000);
  EXPECT_EQ(wake(), Found::busy);
  EXPECT_EQ(file_.header()->limit.load(), kSlots);
  burst(1'000'000);
  EXPECT_EQ(file_.header()->cursor.load(), kSlots);
  EXPECT_EQ(file_.header()->dropped.load(), 2'000'000 - kSlots);
  EXPECT_EQ(wake(), Found::busy);
  EXPECT_EQ(wake(), Found::quiet);
}

TEST_F(RoomTest, AFullDiskIsTakenInSmallPiecesThenLeftAlone) {
  begin();
  wake();
  g_fallocate_bytes_max = 100'000;
  burst(100'000);
  const std::uint64_t before = room();
  EXPECT_EQ(wake(), Found::busy);
  EXPECT_GE(room() - before, Room::piece_slots_min / 2);
  EXPECT_LE(room() - before, 100'000 / sizeof(event::Record));
  g_fallocate_bytes_max = 0;
  EXPECT_EQ(wake(), Found::stuck);
  const std::uint64_t lead = room_.lead();
  for (int i = 0; i < 40; ++i) {  // the second that the keeper waits
    burst(lead / 2);
    EXPECT_EQ(room_.look(false), Found::busy);
  }
  EXPECT_EQ(room_.lead(), lead);
  g_fallocate_bytes_max = std::numeric_limits<off_t>::max();
  wake();
  EXPECT_EQ(room(), 2 * lead);
}

}  // namespace
}  // namespace headway::record
