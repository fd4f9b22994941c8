#include "record/journal_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>

#include "record/test_util.h"

namespace headway::record {
namespace {

using event::Event;
using event::EventType;
using ::testing::Test;

void add_name(JournalBytes& j, std::uint16_t id, const std::string& text) {
  const auto parts = static_cast<std::uint32_t>((text.size() + 23) / 24);
  for (std::uint32_t p = 0; p < parts; ++p) {
    std::uint64_t words[3] = {};
    const std::string piece = text.substr(p * 24, 24);
    std::memcpy(words, piece.data(), piece.size());
    j.add(EventType::name, words[0], static_cast<std::int64_t>(words[1]),
          static_cast<std::int64_t>(words[2]), id, event::name_part_lane(p, parts));
  }
}

JournalBytes small_journal() {
  JournalBytes j;
  add_name(j, 65, "tokenise and shuffle the data");
  j.add(EventType::begin, j.anchor_ticks + 100, 0, 0, 65);
  j.add(EventType::anchor, j.anchor_ticks + 1000, j.anchor_mono_ns + 1000, j.anchor_real_ns + 1000);
  j.add(EventType::end, j.anchor_ticks + 2000, 0, 0, 65);
  j.add(EventType::step, j.anchor_ticks + 3000, 1, 64);
  j.add(EventType::step_end, j.anchor_ticks + 4000, 1, 64);
  return j;
}

// A file that costs nothing to rewrite, for the tests that read thousands of variants.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : fd_(::memfd_create("journal", MFD_CLOEXEC)) {
    put(0, bytes);
  }
  void put(std::size_t at, const std::string& bytes) {
    ASSERT_EQ(::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(bytes.size()));
  }
  void cut(std::size_t size) { ASSERT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(size)), 0); }
  std::unique_ptr<Journal> read() {
    return read_journal("/proc/self/fd/" + std::to_string(fd_.get()));
  }

 private:
  base::UniqueFd fd_;
};

class Reader : public Test {
 protected:
  std::unique_ptr<Journal> read(const JournalBytes& j) { return read(j.bytes()); }
  std::unique_ptr<Journal> read(const std::string& bytes) {
    write_bytes(path_, bytes);
    return read_journal(path_);
  }
  TempDir dir_;
  std::string path_ = dir_.path() + "/rank-00003.hwj";
};

TEST_F(Reader, ReadsWhatWasWritten) {
  const auto j = read(small_journal());
  ASSERT_TRUE(j->status.ok()) << j->status.message();
  EXPECT_EQ(j->info.job, "bytes");
  EXPECT_EQ(j->info.attempt, 7);
  EXPECT_EQ(j->info.rank, 3u);
  EXPECT_EQ(j->info.world_size, 8u);
  EXPECT_EQ(j->info.host, "node9");
  EXPECT_EQ(j->info.origin, path_);
  ASSERT_EQ(j->events.size(), 4u);
  EXPECT_EQ(j->names.text(j->events[0].name), "tokenise and shuffle the data");
  EXPECT_EQ(j->events[0].t_ns, JournalBytes::anchor_real_ns + 100);
  EXPECT_EQ(j->events[1].type, EventType::end);
  EXPECT_EQ(j->events[3].b, 64);
  EXPECT_EQ(j->loss.note, "");
}

TEST_F(Reader, MapsEveryIdIntoTheSharedTable) {
  JournalBytes j;
  add_name(j, 65, "disk");
  add_name(j, 66, "family");
  add_name(j, 67, "dlrm");
  add_name(j, 68, "compile");
  j.add(EventType::restore, j.anchor_ticks, 5, 320, 65);
  j.add(EventType::attr, j.anchor_ticks, 67, 0, 66);
  j.add(EventType::begin, j.anchor_ticks, 0, 0, 68);
  const event::EndInfo end{1, 9, HW_ORIGIN_INFRA, 2, 65};
  j.add(EventType::mark, j.anchor_ticks, event::pack_end_a(end), event::pack_end_b(end),
        HW_MARK_FAILURE);
  j.add(EventType::hang, j.anchor_ticks + 50, static_cast<std::int64_t>(j.anchor_ticks) + 20, 1);
  j.add(EventType::begin, j.anchor_ticks, 0, 0, 999);
  j.add(EventType::begin, j.anchor_ticks, 0, 0, event::kOtherNameId);
  j.add(EventType::restore, j.anchor_ticks, 5, 320, 0);
  const auto read_back = read(j);
  ASSERT_EQ(read_back->events.size(), 8u);
  const auto& e = read_back->events;
  const auto& names = read_back->names;
  EXPECT_EQ(names.text(e[0].name), "disk");
  EXPECT_EQ(names.text(e[1].name), "family");
  EXPECT_EQ(names.text(static_cast<event::NameId>(e[1].a)), "dlrm");
  EXPECT_EQ(e[2].name, HW_PHASE_COMPILE);
  const event::EndInfo out = event::unpack_end(e[3].a, e[3].b);
  EXPECT_EQ(names.text(out.reason), "disk");
  EXPECT_EQ(out.signal, 9);
  EXPECT_EQ(out.rank, 2u);
  EXPECT_EQ(e[4].a, JournalBytes::anchor_real_ns + 20);
  EXPECT_EQ(names.text(e[5].name), "~unknown");
  EXPECT_EQ(names.text(e[6].name), "~other");
  EXPECT_EQ(e[7].name, 0);
}

TEST_F(Reader, CountsDamageAndUncommittedSlotsAndGoesOn) {
  JournalBytes j = small_journal();
  j.add_uncommitted();
  j.add(EventType::step, j.anchor_ticks + 5000, 2, 128);
  j.records[4].a ^= 1;
  j.add_uncommitted();
  j.add_uncommitted();
  j.live.dropped = 11;
  const auto read_back = read(j);
  EXPECT_EQ(read_back->events.size(), 4u);
  EXPECT_EQ(read_back->loss.damaged_records, 1u);
  EXPECT_EQ(read_back->loss.uncommitted_records, 3u);
  EXPECT_EQ(read_back->loss.dropped_records, 11u);
  const std::string& note = read_back->loss.note;
  EXPECT_NE(note.find(path_), std::string::npos);
  EXPECT_NE(note.find("slot 4, byte 4224"), std::string::npos) << note;
  EXPECT_EQ(note.find('\n'), std::string::npos);
}

TEST_F(Reader, RoomThatWasNeverUsedIsNotALoss) {
  const auto j = read(small_journal().bytes() + std::string(1 << 20, '\0'));
  EXPECT_EQ(j->events.size(), 4u);
  EXPECT_EQ(j->loss.note, "");
}

TEST_F(Reader, RecordsBehindADamagedCursorAreStillFound) {
  JournalBytes j = small_journal();
  j.live.cursor = 0;
  EXPECT_EQ(read(j)->events.size(), 4u);
  j.live.cursor = 1ull << 62;
  const auto read_back = read(j);
  EXPECT_EQ(read_back->events.size(), 4u);
  EXPECT_EQ(read_back->loss.damaged_records, 1u);
  EXPECT_NE(read_back->loss.note.find("cursor"), std::string::npos);
}

TEST_F(Reader, ANameWhoseRunIsBrokenIsUnknown) {
  JournalBytes j;
  add_name(j, 65, std::string(60, 'x'));
  j.records[1].a ^= 1;
  j.add(EventType::begin, j.anchor_ticks, 0, 0, 65);
  const auto read_back = read(j);
  ASSERT_EQ(read_back->events.size(), 1u);
  EXPECT_EQ(read_back->names.text(read_back->events[0].name), "~unknown");
}

TEST_F(Reader, HeaderDamageNamesTheField) {
  const auto message = [this](const std::function<void(event::HeaderFields&)>& damage,
                              bool fix_crc) {
    JournalBytes j = small_journal();
    damage(j.fixed);
    if (fix_crc) {
      const event::HeaderFields broken = j.fixed;
      finish_header(j.fixed);
      j.fixed.version = broken.version;
      j.fixed.header_bytes = broken.header_bytes;
      j.fixed.record_bytes = broken.record_bytes;
    }
    const auto read_back = read(j);
    EXPECT_FALSE(read_back->status.ok());
    EXPECT_NE(read_back->status.message().find(path_), std::string::npos);
    EXPECT_EQ(read_back->status.message().find('\n'), std::string::npos);
    return read_back->status.message();
  };
  const auto has = [](const std::string& text, const char* word) {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  has(message([](auto& h) { h.version = 2; }, true), "version at byte 8 is 2");
  has(message([](auto& h) { h.header_bytes = 64; }, true), "header_bytes at byte 12");
  has(message([](auto& h) { h.record_bytes = 64; }, true), "record_bytes at byte 16");
  has(message([](auto& h) { h.clock_kind = 9; }, true), "clock_kind at byte 20");
  has(message([](auto& h) { h.clock_hz = 0; }, true), "clock_hz at byte 48");
  has(message([](auto& h) { std::memset(h.job, 'x', sizeof(h.job)); }, true), "job at byte 96");
  has(message([](auto& h) { std::memset(h.host, 'x', sizeof(h.host)); }, true), "host at byte 352");
  has(message([](auto& h) { h.rank ^= 1; }, false), "header_crc32c at byte 488");
  has(message([](auto& h) { h.magic[0] = 'X'; }, false), "not a Headway journal");
}

TEST_F(Reader, RefusesWhatIsNoJournal) {
  EXPECT_EQ(read("")->status.code(), base::Code::corrupt);
  EXPECT_EQ(read("#!/bin/sh\necho hello\n")->status.code(), base::Code::invalid_input);
  EXPECT_EQ(read(std::string(100000, '\xff'))->status.code(), base::Code::invalid_input);
  EXPECT_EQ(read_journal(dir_.path() + "/none")->status.code(), base::Code::not_found);
  EXPECT_FALSE(read_journal(dir_.path())->status.ok());
  EXPECT_FALSE(read_journal("/dev/null")->status.ok());
}

// Nothing that a single wrong bit does may crash, or change an event without being counted.
TEST_F(Reader, EveryBitFlipIsSeenOrHarmless) {
  const std::string good = small_journal().bytes();
  MemoryFile file(good);
  const auto want = file.read();
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      file.put(byte, std::string(1, static_cast<char>(good[byte] ^ (1 << bit))));
      const auto got = file.read();
      if (!got->status.ok()) continue;
      const bool same = got->events.size() == want->events.size() &&
                        std::equal(got->events.begin(), got->events.end(), want->events.begin(),
                                   [](const Event& x, const Event& y) {
                                     return x.t_ns == y.t_ns && x.a == y.a && x.b == y.b &&
                                            x.name == y.name && x.type == y.type;
                                   });
      EXPECT_TRUE(same || !got->loss.note.empty()) << "byte " << byte << " bit " << bit;
      // A slot is 32 bytes: its loss is one record's, and may take a name's text along.
      EXPECT_GE(got->events.size() + 1, want->events.size()) << "byte " << byte;
    }
    file.put(byte, std::string(1, good[byte]));
  }
}

TEST_F(Reader, EveryTruncationIsSeen) {
  const std::string good = small_journal().bytes();
  MemoryFile file(good);
  for (std::size_t size = good.size(); size-- > 0;) {
    file.cut(size);
    const auto got = file.read();
    if (size < event::kHeaderBytes) {
      EXPECT_FALSE(got->status.ok()) << size;
    } else {
      ASSERT_TRUE(got->status.ok()) << size;
      EXPECT_GT(got->loss.damaged_records, 0u) << size;
      EXPECT_NE(got->loss.note.find("ends"), std::string::npos) << size;
    }
  }
}

TEST_F(Reader, RandomBytesBehindAGoodHeaderAreCounted) {
  constexpr unsigned kSeed = 99;
  std::mt19937 random(kSeed);
  JournalBytes j;
  j.live.cursor = 5000;
  std::string bytes = j.bytes();
  for (int i = 0; i < 5000 * 32; ++i) bytes += static_cast<char>(random());
  const auto read_back = read(bytes);
  EXPECT_EQ(read_back->loss.damaged_records + read_back->loss.uncommitted_records, 5000u)
      << "seed " << kSeed;
  EXPECT_TRUE(read_back->events.empty());
}

TEST_F(Reader, LiveJournalIsWaitedForAndThenFinished) {
  JournalBytes j = small_journal();
  j.add_uncommitted();
  j.add(EventType::step, j.anchor_ticks + 9000, 2, 128);
  write_bytes(path_, j.bytes());
  event::NameTable names;
  auto reader = JournalReader::open(path_, names);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->next().size(), 4u);
  EXPECT_TRUE((*reader)->next().empty());
  EXPECT_TRUE((*reader)->next().empty());
  EXPECT_EQ((*reader)->loss().uncommitted_records, 0u);

  // The slow writer commits.
  JournalBytes later = j;
  later.records[7] = {};
  JournalBytes one;
  one.add(EventType::begin, j.anchor_ticks + 8000, 0, 0, HW_PHASE_EVAL);
  later.records[7] = one.records[0];
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes = later.bytes();
  file.write(bytes.data(), static_cast<long>(bytes.size()));
  file.flush();
  EXPECT_EQ((*reader)->next().size(), 2u);
  EXPECT_TRUE((*reader)->next().empty());
  (*reader)->set_final();
  EXPECT_TRUE((*reader)->next().empty());
  EXPECT_EQ((*reader)->loss().note, "");
}

TEST_F(Reader, AnAbandonedSlotOfALiveJournalIsGivenUpInTheEnd) {
  JournalBytes j = small_journal();
  j.add_uncommitted();
  j.add(EventType::step, j.anchor_ticks + 9000, 2, 128);
  j.live.limit = j.fixed.slots_max = JournalReader::wait_slots_max * 2;
  finish_header(j.fixed);
  j.live.cursor = JournalReader::wait_slots_max + 9;
  write_bytes(path_, j.bytes());
  event::NameTable names;
  auto reader = JournalReader::open(path_, names);
  EXPECT_EQ((*reader)->next().size(), 5u);
  EXPECT_EQ((*reader)->loss().uncommitted_records, 1u);
}

TEST_F(Reader, AFileCutWhileItIsReadDoesNoHarm) {
  JournalBytes j;
  for (int i = 0; i < 20000; ++i) j.add(EventType::step, j.anchor_ticks, i, i);
  write_bytes(path_, j.bytes());
  event::NameTable names;
  auto reader = JournalReader::open(path_, names);
  (*reader)->set_final();
  std::size_t events = (*reader)->next().size();
  std::filesystem::resize_file(path_, event::kHeaderBytes + 6000 * 32 + 7);
  for (auto batch = (*reader)->next(); !batch.empty(); batch = (*reader)->next()) {
    events += batch.size();
  }
  EXPECT_EQ(events, 6000u);
  EXPECT_EQ((*reader)->loss().damaged_records, 14000u);
}

TEST_F(Reader, ListsJournalsOfAJob) {
  std::filesystem::create_directories(dir_.path() + "/1");
  std::filesystem::create_directories(dir_.path() + "/2");
  for (const char* name :
       {"/2/rank-00000.hwj", "/1/rank-00001.hwj", "/1/x.tmp", "/1/agent-a.hwj"}) {
    write_bytes(dir_.path() + name, "");
  }
  const auto list = list_journals(dir_.path()).value();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0], dir_.path() + "/1/agent-a.hwj");
  EXPECT_EQ(list[2], dir_.path() + "/2/rank-00000.hwj");
  EXPECT_FALSE(list_journals(dir_.path() + "/none").ok());
}

}  // namespace
}  // namespace headway::record
