#include "ingest/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/crc32c.h"
#include "record/test_util.h"

namespace headway::ingest {
namespace {

using event::EventType;
using event::Record;
using record::JournalBytes;
using ::testing::HasSubstr;

JournalBytes journal_of(std::size_t slots) {
  JournalBytes journal;
  for (std::size_t i = 0; i < slots; ++i) {
    journal.add(EventType::step, journal.anchor_ticks + 1000 * i, static_cast<std::int64_t>(i));
  }
  return journal;
}

ChunkRecord chunk_of(const JournalBytes& journal, std::uint64_t first, std::uint32_t slots) {
  ChunkRecord chunk{};
  chunk.journal = journal_id(journal.fixed);
  chunk.first_slot = first;
  chunk.slots = slots;
  chunk.cursor = journal.live.cursor;
  chunk.limit = journal.live.limit;
  return chunk;
}

std::vector<std::byte> small_batch() {
  const JournalBytes journal = journal_of(100);
  BatchWriter writer;
  writer.add_head(journal.fixed, "rank-00003.hwj");
  writer.add_chunk(chunk_of(journal, 0, 60), std::span(journal.records).first(60));
  writer.add_chunk(chunk_of(journal, 60, 40), std::span(journal.records).subspan(60));
  return writer.finish(17);
}

// The bytes changed and both checksums mended, so that what is behind them is looked at.
std::vector<std::byte> spoilt(const std::function<void(std::vector<std::byte>&)>& change) {
  std::vector<std::byte> bytes = small_batch();
  change(bytes);
  BatchHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.body_crc32c = base::crc32c(bytes.data() + sizeof(header), bytes.size() - sizeof(header));
  header.header_crc32c = base::crc32c(&header, offsetof(BatchHeader, header_crc32c));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

template <typename T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

std::string refusal(const std::vector<std::byte>& bytes) {
  const auto batch = Batch::parse(bytes, "batch");
  return batch.ok() ? "taken" : batch.status().message();
}

constexpr std::size_t kHeads = sizeof(BatchHeader);
constexpr std::size_t kChunks = kHeads + sizeof(HeadRecord);

TEST(Batch, ComesBackAsItWasSent) {
  const std::vector<std::byte> bytes = small_batch();
  auto batch = Batch::parse(bytes, "batch");
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  EXPECT_EQ(batch->header.sent_real_ns, 17);
  ASSERT_EQ(batch->heads.size(), 1u);
  EXPECT_STREQ(batch->heads[0].name, "rank-00003.hwj");
  ASSERT_EQ(batch->chunks.size(), 2u);
  EXPECT_EQ(batch->chunks[1].first_slot, 60u);
  EXPECT_EQ(batch->chunks[1].journal, journal_id(batch->heads[0].journal));
  EXPECT_LT(batch->packed.size(), 100 * sizeof(Record) / 2);
  std::vector<Record> slots;
  ASSERT_TRUE(unpack_slots(batch->packed, batch->header.slots, slots, "batch").ok());
  const JournalBytes journal = journal_of(100);
  ASSERT_EQ(slots.size(), 100u);
  EXPECT_EQ(std::memcmp(slots.data(), journal.records.data(), 100 * sizeof(Record)), 0);
}

TEST(Batch, WithoutSlotsIsASignOfLife) {
  BatchWriter writer;
  ChunkRecord chunk = chunk_of(journal_of(3), 3, 0);
  chunk.flags = kChunkFinal | kChunkClosed;
  chunk.dropped = 5;
  writer.add_chunk(chunk, {});
  const auto bytes = writer.finish(0);
  auto batch = Batch::parse(bytes, "batch");
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  std::vector<Record> slots(9);
  EXPECT_TRUE(unpack_slots(batch->packed, 0, slots, "batch").ok());
  EXPECT_TRUE(slots.empty());
  const event::LiveFields live = live_fields(batch->chunks[0]);
  EXPECT_EQ(live.closed, 1u);
  EXPECT_EQ(live.dropped, 5u);
  EXPECT_EQ(live.cursor, 3u);
}

TEST(Batch, EveryFlippedBitIsSeen) {
  const std::vector<std::byte> good = small_batch();
  ASSERT_EQ(refusal(good), "taken");
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bytes = good;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_NE(refusal(bytes), "taken") << "bit " << bit;
  }
}

TEST(Batch, EveryTruncationIsSeen) {
  const std::vector<std::byte> good = small_batch();
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_NE(refusal({good.begin(), good.begin() + static_cast<long>(size)}), "taken") << size;
  }
  std::vector<std::byte> longer = good;
  longer.push_back({});
  EXPECT_THAT(refusal(longer), HasSubstr("where its header tells of"));
}

TEST(Batch, SaysWhatIsWrong) {
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, 0, 'X'); })), HasSubstr("not an ingest batch"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, 8, 2u); })), HasSubstr("version 2"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, 16, 5000u); })), HasSubstr("more than a batch"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, 20, 9000u); })), HasSubstr("more than a batch"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, 24, UINT64_MAX); })),
              HasSubstr("more than a batch"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, 32, UINT64_MAX); })),
              HasSubstr("where its header tells of"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, 24, std::uint64_t{99}); })),
              HasSubstr("its chunks have 100 slots"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, kHeads + 24, std::uint64_t{9}); })),
              HasSubstr("head 0: header field header_crc32c"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { std::memset(b.data() + kHeads + 496, 'x', 144); })),
              HasSubstr("name has no end"));
  EXPECT_THAT(refusal(spoilt([](auto& b) { put(b, kChunks + 16, UINT64_MAX); })),
              HasSubstr("beyond the largest journal"));
}

TEST(Batch, HeadsAreOfOneJobAndAttempt) {
  JournalBytes other = journal_of(1);
  other.fixed.attempt = 8;
  record::finish_header(other.fixed);
  BatchWriter writer;
  writer.add_head(journal_of(1).fixed, "a.hwj");
  writer.add_head(other.fixed, "b.hwj");
  EXPECT_THAT(refusal(writer.finish(0)), HasSubstr("head 1: is of another job or attempt"));
}

TEST(Batch, AFrameThatUnpacksToMoreIsRefused) {
  const auto bytes = small_batch();
  auto batch = Batch::parse(bytes, "batch");
  ASSERT_TRUE(batch.ok());
  std::vector<Record> slots;
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{99}, std::uint64_t{101}}) {
    EXPECT_THAT(unpack_slots(batch->packed, count, slots, "batch").message(),
                HasSubstr("do not unpack to"))
        << count;
  }
}

}  // namespace
}  // namespace headway::ingest
