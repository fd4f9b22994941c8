// reserve() and commit() of core.h under every order in which two or three writers, the keeper and
// a shutdown can meet. Every state on the way is checked too, since SIGKILL may leave any of them.
// Nothing here depends on time or luck; for real threads see Recorder.ThreadsLoseNothing.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "record/core.h"
#include "record/interleave.h"

namespace headway::record {
namespace {

using event::EventType;
using event::kSealedBit;
using interleave::Cell;
using interleave::CommitCell;
using interleave::Thread;
using interleave::Words;

constexpr std::uint64_t kSlots = 8;  // more than any test asks for
constexpr std::uint16_t kName = 9;
enum : std::size_t { kCursor, kLimit, kDropped, kSealedAt, kFirstSlot };
enum : std::size_t { kT, kA, kB, kNameField, kLane, kCommit, kFields };

struct StepSlot {
  explicit StepSlot(std::size_t first)
      : t(first + kT),
        a(first + kA),
        b(first + kB),
        name(first + kNameField),
        lane(first + kLane),
        commit(first + kCommit) {}
  Cell t, a, b, name, lane;
  CommitCell commit;
};

struct StepHeader {
  StepHeader() {
    for (std::size_t i = 0; i < kSlots; ++i) slots.emplace_back(kFirstSlot + i * kFields);
  }
  Cell cursor{kCursor}, limit{kLimit}, dropped{kDropped}, sealed_at{kSealedAt};
  std::vector<StepSlot> slots;
};

StepSlot* slots_of(StepHeader* header) {
  return header->slots.data();
}

StepHeader g_header;

// Record `number` of `writer`, both from 1; no field is zero, so that any store shows.
std::uint64_t ticks_of(std::uint64_t writer, std::uint64_t number) {
  return 100 * writer + number;
}

void put_one(std::uint64_t writer, std::uint64_t number) {
  put_in(&g_header, EventType::step, kName, static_cast<std::uint16_t>(writer),
         ticks_of(writer, number), static_cast<std::int64_t>(writer),
         static_cast<std::int64_t>(number));
}

// As a name of two parts is written (name_interner.cc): slots side by side, or none.
void put_pair(std::uint64_t writer, std::uint64_t number) {
  StepSlot* slots = reserve(&g_header, 2);
  if (slots == nullptr) return;
  for (std::uint64_t i = 0; i < 2; ++i) {
    commit(slots + i, EventType::step, kName, static_cast<std::uint16_t>(writer),
           ticks_of(writer, number + i), static_cast<std::int64_t>(writer),
           static_cast<std::int64_t>(number + i));
  }
}

using Put = void (*)(std::uint64_t writer, std::uint64_t number);

Thread writer(std::uint64_t who, std::uint64_t records, Put put = put_one) {
  Thread thread;
  for (std::uint64_t n = 1; n <= records; ++n) thread.push_back([=] { put(who, n); });
  return thread;
}

// JournalFile::grow_to() and JournalFile::seal(), of which this is all that writers see.
Thread keeper(std::uint64_t limit) {
  return {[=] { g_header.limit.store(limit, std::memory_order_release); }};
}
Thread shutdown() {
  return {[] { g_header.sealed_at = 1 + g_header.cursor.fetch_or(kSealedBit); }};
}

// What holds for a journal at every instant, and more at the end.
class Journal {
 public:
  Journal(std::uint64_t asked, std::set<std::uint64_t>* ends) : asked_(asked), ends_(ends) {}

  std::string operator()(const Words& words, bool end) const {
    const std::uint64_t cursor = words[kCursor] & ~kSealedBit;
    if (cursor > words[kLimit]) return "the cursor is beyond the limit";
    std::map<std::uint64_t, std::uint64_t> last;  // number, by writer
    std::uint64_t committed = 0;
    for (std::uint64_t i = 0; i < kSlots; ++i) {
      const std::uint64_t* slot = &words[kFirstSlot + i * kFields];
      if (i >= cursor) {
        for (std::size_t f = 0; f < kFields; ++f) {
          if (slot[f] != 0) return "a slot is written that nobody reserved";
        }
      } else if (slot[kCommit] == 0) {
        if (end) return "a hole";
      } else {
        ++committed;
        if (!whole(slot)) return "a committed slot is not whole";
        std::uint64_t& before = last[slot[kA]];
        if (slot[kB] <= before) return "a record is there twice or out of order";
        before = slot[kB];
      }
    }
    if (committed + words[kDropped] > asked_) return "more records and drops than calls";
    if (!end) return "";
    if (committed + words[kDropped] != asked_) return "a call is neither a record nor a drop";
    if (words[kSealedAt] != 0 && words[kSealedAt] != 1 + cursor) return "reserved after the seal";
    ends_->insert(committed);
    return "";
  }

 private:
  static bool whole(const std::uint64_t* slot) {
    const std::uint32_t check = event::record_check(
        slot[kT], static_cast<std::int64_t>(slot[kA]), static_cast<std::int64_t>(slot[kB]),
        static_cast<std::uint16_t>(slot[kNameField]), static_cast<std::uint16_t>(slot[kLane]),
        EventType::step);
    return slot[kCommit] == event::commit_word(check, EventType::step) &&

           slot[kT] == ticks_of(slot[kA], slot[kB]) && slot[kLane] == slot[kA];
  }

  std::uint64_t asked_;
  std::set<std::uint64_t>* ends_;
};

struct Result {
  std::string broken;
  std::set<std::uint64_t> ends;  // records in the journal, over all orders
};

Result explore(std::vector<Thread> threads, std::uint64_t asked, std::uint64_t limit) {
  Result result;
  interleave::Explorer explorer(std::move(threads), Journal(asked, &result.ends));
  Words words(kFirstSlot + kSlots * kFields);
  words[kLimit] = limit;
  const interleave::Outcome outcome = explorer.run(std::move(words));
  std::printf("limit %lu: %zu states\n", static_cast<unsigned long>(limit), outcome.states);
  result.broken = outcome.broken;
  return result;
}

using Ends = std::set<std::uint64_t>;

// Room for none, some and all: exactly what does not fit is dropped.
TEST(Interleaving, TwoWritersAtEveryLimit) {
  for (std::uint64_t limit = 0; limit <= 7; ++limit) {
    const Result r = explore({writer(1, 3), writer(2, 3)}, 6, limit);
    EXPECT_EQ(r.broken, "");
    EXPECT_EQ(r.ends, Ends{std::min<std::uint64_t>(limit, 6)});
  }
}

TEST(Interleaving, ThreeWriters) {
  for (const std::uint64_t limit : {1, 2, 3}) {
    const Result r = explore({writer(1, 1), writer(2, 1), writer(3, 1)}, 3, limit);
    EXPECT_EQ(r.broken, "");
    EXPECT_EQ(r.ends, Ends{limit});
  }
}

// The limit is raised when some have been dropped already: they leave no hole behind.
TEST(Interleaving, TheKeeperRaisesTheLimit) {
  const Result r = explore({writer(1, 2), writer(2, 2), keeper(3)}, 4, 1);
  EXPECT_EQ(r.broken, "");
  EXPECT_EQ(r.ends, (Ends{1, 2, 3}));
}

TEST(Interleaving, AShutdownLetsNobodyIn) {
  const Result r = explore({writer(1, 2), writer(2, 2), shutdown()}, 4, 3);
  EXPECT_EQ(r.broken, "");
  EXPECT_EQ(r.ends, (Ends{0, 1, 2, 3}));
}

TEST(Interleaving, ANameLiesSideBySideOrNowhere) {
  for (const std::uint64_t limit : {1, 2, 3, 4}) {
    const Thread name{[] { put_pair(1, 1); }};
    const Result r = explore({name, writer(2, 2)}, 4, limit);
    EXPECT_EQ(r.broken, "");
    const std::map<std::uint64_t, Ends> want{{1, {1}}, {2, {2}}, {3, {2, 3}}, {4, {4}}};
    EXPECT_EQ(r.ends, want.at(limit));
  }
}

// The mistakes that this file is there to find, each of which it must find.
template <typename Reserve>
void put_by(Reserve reserve_slot, std::uint64_t writer, std::uint64_t number) {
  StepSlot* slot = reserve_slot();
  if (slot == nullptr) return;
  commit(slot, EventType::step, kName, static_cast<std::uint16_t>(writer), ticks_of(writer, number),
         static_cast<std::int64_t>(writer), static_cast<std::int64_t>(number));
}

StepSlot* drop() {
  g_header.dropped.fetch_add(1);
  return nullptr;
}

void put_by_load_and_store(std::uint64_t writer, std::uint64_t number) {
  const auto reserve_slot = []() -> StepSlot* {
    const std::uint64_t slot = g_header.cursor.load();
    if (slot + 1 > g_header.limit.load()) return drop();
    g_header.cursor.store(slot + 1);
    return slots_of(&g_header) + slot;
  };
  put_by(reserve_slot, writer, number);
}

void put_by_fetch_add(std::uint64_t writer, std::uint64_t number) {
  const auto reserve_slot = []() -> StepSlot* {
    const std::uint64_t slot = g_header.cursor.fetch_add(1);
    return slot + 1 > g_header.limit.load() ? drop() : slots_of(&g_header) + slot;
  };
  put_by(reserve_slot, writer, number);
}

void put_uncounted(std::uint64_t writer, std::uint64_t number) {
  if (g_header.cursor.load() >= g_header.limit.load()) return;
  put_one(writer, number);
}

void put_committed_first(std::uint64_t writer, std::uint64_t number) {
  StepSlot* slot = reserve(&g_header, 1);
  if (slot == nullptr) return;
  const auto a = static_cast<std::int64_t>(writer);
  const auto b = static_cast<std::int64_t>(number);
  const auto lane = static_cast<std::uint16_t>(writer);
  const std::uint64_t t = ticks_of(writer, number);
  const std::uint32_t check = event::record_check(t, a, b, kName, lane, EventType::step);
  std::atomic_ref(slot->commit).store(event::commit_word(check, EventType::step));
  slot->t = t;
  slot->a = writer;
  slot->b = number;
  slot->name = kName;
  slot->lane = lane;
}

TEST(Interleaving, FindsWhatItIsThereToFind) {
  const auto broken = [](Put put, std::uint64_t limit) {
    return explore({writer(1, 2, put), writer(2, 2, put)}, 4, limit).broken;
  };
  EXPECT_EQ(broken(put_one, 4), "");
  EXPECT_NE(broken(put_by_load_and_store, 4), "");
  EXPECT_NE(broken(put_committed_first, 4), "");
  EXPECT_NE(broken(put_by_fetch_add, 3), "");
  EXPECT_NE(broken(put_uncounted, 3), "");
}

}  // namespace
}  // namespace headway::record
