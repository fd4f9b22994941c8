#include "ingest/journal_tail.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "base/pid_namespace.h"
#include "ingest/batch.h"
#include "record/slot_reader.h"
#include "record/test_util.h"

namespace headway::ingest {
namespace {

using event::EventType;
using event::Record;
using record::JournalBytes;

struct Sent {
  std::vector<Record> slots;
  ChunkRecord last{};
};

Sent send_all(JournalTail& tail, bool dead, std::size_t at_once = 1000) {
  Sent sent;
  for (int i = 0; i < 10'000; ++i) {
    const JournalTail::Read read = tail.read(at_once, dead);
    EXPECT_EQ(read.chunk.first_slot, sent.slots.size());
    EXPECT_EQ(read.chunk.slots, read.slots.size());
    sent.slots.insert(sent.slots.end(), read.slots.begin(), read.slots.end());
    sent.last = read.chunk;
    if (read.slots.empty()) break;
  }
  return sent;
}

class Tail : public ::testing::Test {
 protected:
  std::unique_ptr<JournalTail> open(const JournalBytes& journal) {
    record::write_bytes(path_, journal.bytes());
    auto tail = JournalTail::open(path_);
    EXPECT_TRUE(tail.ok()) << tail.status().message();
    return std::move(*tail);
  }
  // What a reader of the file sees is what a reader of the slots sees.
  void expect_same(const Sent& sent) {
    const auto file = record::read_journal(path_);
    auto tail = JournalTail::open(path_);
    ASSERT_TRUE(tail.ok());
    event::NameTable names;
    record::SlotReader reader((*tail)->header(), names);
    std::vector<Record> slots = sent.slots;
    reader.consume(slots, nullptr);
    const event::LiveFields live = live_fields(sent.last);
    reader.finish(live);
    ASSERT_EQ(reader.events().size(), file->events.size());
    for (std::size_t i = 0; i < file->events.size(); ++i) {
      ASSERT_EQ(std::memcmp(&reader.events()[i].t_ns, &file->events[i].t_ns, 24), 0) << i;
      ASSERT_EQ(reader.events()[i].name, file->events[i].name) << i;
      ASSERT_EQ(reader.events()[i].type, file->events[i].type) << i;
    }
    const event::StreamLoss loss = reader.loss(live, path_);
    EXPECT_EQ(loss.note, file->loss.note);
    EXPECT_EQ(loss.damaged_records, file->loss.damaged_records);
    EXPECT_EQ(loss.uncommitted_records, file->loss.uncommitted_records);
    EXPECT_EQ(loss.dropped_records, file->loss.dropped_records);
  }

  base::TempDir dir_;
  std::string path_ = dir_.path() + "/rank-00003.hwj";
};

JournalBytes steps(std::size_t count) {
  JournalBytes journal;
  for (std::size_t i = 0; i < count; ++i) {
    journal.add(EventType::step_end, journal.anchor_ticks + 1000 * i, static_cast<std::int64_t>(i),
                64);
  }
  return journal;
}

TEST_F(Tail, SendsTheSlotsOfTheFile) {
  const JournalBytes journal = steps(40'000);
  const auto tail = open(journal);
  EXPECT_EQ(tail->name(), "rank-00003.hwj");
  EXPECT_EQ(tail->id(), journal_id(journal.fixed));
  const Sent sent = send_all(*tail, true, SIZE_MAX);
  ASSERT_EQ(sent.slots.size(), 40'000u);
  EXPECT_EQ(std::memcmp(sent.slots.data(), journal.records.data(), 40'000 * sizeof(Record)), 0);
  EXPECT_EQ(sent.last.flags, kChunkFinal);
  expect_same(sent);
}

TEST_F(Tail, WaitsForASlotThatIsBeingWritten) {
  JournalBytes journal = steps(10);
  journal.add_uncommitted();
  journal.add(EventType::step, journal.anchor_ticks + 99'000, 12);
  const auto tail = open(journal);
  Sent sent = send_all(*tail, false);
  EXPECT_EQ(sent.slots.size(), 10u);
  EXPECT_EQ(sent.last.flags, 0u);
  // Its writer gets on with it.
  journal.records[10] = journal.records[11];
  record::write_bytes(path_, journal.bytes());
  EXPECT_EQ(tail->read(1000, false).slots.size(), 2u);
}

TEST_F(Tail, OfTheDeadWhatIsLostGoesAsZeros) {
  JournalBytes journal = steps(10);
  journal.add_uncommitted();
  journal.add(EventType::step, journal.anchor_ticks + 99'000, 12);
  journal.add_uncommitted();  // reserved by one who died
  const std::uint64_t cursor = journal.live.cursor;
  for (int i = 0; i < 5000; ++i) journal.add_uncommitted();  // room that was never used
  journal.live.cursor = cursor;
  journal.live.dropped = 3;
  const auto tail = open(journal);
  const Sent sent = send_all(*tail, true);
  EXPECT_EQ(sent.slots.size(), 13u);
  EXPECT_EQ(sent.last.flags, kChunkFinal);
  expect_same(sent);
}

TEST_F(Tail, DamageIsSentAsItIs) {
  JournalBytes journal = steps(100);
  journal.records[50].a ^= 1;
  journal.live.cursor = UINT64_MAX / 4;  // beyond its limit: the fields are damaged, too
  const auto tail = open(journal);
  const Sent sent = send_all(*tail, true);
  EXPECT_EQ(sent.slots.size(), 100u);
  expect_same(sent);
}

TEST_F(Tail, RecordsBehindALowCursorAreSent) {
  JournalBytes journal = steps(100);
  journal.live.cursor = 20;
  const auto tail = open(journal);
  const Sent sent = send_all(*tail, true);
  EXPECT_EQ(sent.slots.size(), 100u);
  expect_same(sent);
}

TEST_F(Tail, ASealedJournalIsOverByItself) {
  JournalBytes journal = steps(7);
  journal.live.cursor |= event::kSealedBit;
  journal.live.closed = 1;
  const auto tail = open(journal);
  const Sent sent = send_all(*tail, false);
  EXPECT_EQ(sent.slots.size(), 7u);
  EXPECT_EQ(sent.last.flags, kChunkFinal | kChunkClosed);
}

TEST_F(Tail, GoesBackToWhereTheReceiverIs) {
  const auto tail = open(steps(100));
  EXPECT_EQ(tail->read(60, false).slots.size(), 60u);
  tail->seek(10);
  const JournalTail::Read again = tail->read(60, false);
  EXPECT_EQ(again.chunk.first_slot, 10u);
  EXPECT_EQ(again.slots.front().a, 10);
}

// Garbage of all kinds behind a good header: what is sent says the same as the file.
TEST_F(Tail, AnyBytesAreSentSoThatTheySayTheSame) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    JournalBytes journal;
    for (int i = 0; i < 300; ++i) {
      switch (random() % 5) {
        case 0:
          journal.add_uncommitted();
          break;
        case 1:
          journal.add(static_cast<EventType>(random() % 15),
                      journal.anchor_ticks + random() % 9999);
          break;
        case 2:
          journal.add(EventType::step, journal.anchor_ticks + random() % 9999);
          journal.records.back().b ^= static_cast<std::int64_t>(random() % 2);
          break;
        default:
          journal.add(EventType::step_end, journal.anchor_ticks + random() % 99999, i);
      }
    }
    if (random() % 4 == 0) journal.live.cursor = random() % 400;
    if (random() % 8 == 0) journal.live.limit = random() % 400;
    const auto tail = open(journal);
    expect_same(send_all(*tail, true, 1 + random() % 100));
  }
}

TEST(WriterIsGone, KnowsBootsAndProcesses) {
  event::HeaderFields header{};
  header.pid = static_cast<std::uint32_t>(::getpid());
  EXPECT_FALSE(writer_is_gone(header));
  header.boot_id[3] = 1;  // another boot, in which that process lived
  EXPECT_TRUE(writer_is_gone(header));
}

TEST(WriterIsGone, KnowsNothingOfOtherPidNamespaces) {
  event::HeaderFields header{};
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  header.pid = static_cast<std::uint32_t>(child);
  header.pid_namespace = base::pid_namespace();
  ASSERT_NE(header.pid_namespace, 0u);
  EXPECT_TRUE(writer_is_gone(header));
  header.pid_namespace += 1;  // where that number may be somebody who writes
  EXPECT_FALSE(writer_is_gone(header));
}

}  // namespace
}  // namespace headway::ingest
