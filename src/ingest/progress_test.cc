#include "ingest/progress.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "record/test_util.h"

namespace headway::ingest {
namespace {

using record::JournalBytes;

// A batch of one chunk, without its slots: the rule does not look at them.
struct Made {
  JournalBytes journal;

  [[nodiscard]] JournalId id() const { return journal_id(journal.fixed); }
  [[nodiscard]] Batch batch(std::uint64_t first, std::uint32_t slots, bool with_head = false,
                            std::uint32_t flags = 0) const {
    Batch out{};
    if (with_head) {
      HeadRecord head{};
      head.journal = journal.fixed;
      out.heads.push_back(head);
    }
    ChunkRecord chunk{};
    chunk.journal = id();
    chunk.first_slot = first;
    chunk.slots = slots;
    chunk.flags = flags;
    chunk.cursor = first + slots;
    out.chunks.push_back(chunk);
    return out;
  }
};

Verdict verdict(const Batch& batch, ProgressMap& known) {
  return judge(batch, "bytes", 7, known).verdict;
}

TEST(Progress, SlotsAreTakenOnce) {
  const Made made;
  ProgressMap known;
  EXPECT_EQ(verdict(made.batch(0, 10, true), known), Verdict::news);
  EXPECT_EQ(known.at(made.id()).next_slot, 10u);
  EXPECT_EQ(known.at(made.id()).attempt, 7u);
  EXPECT_EQ(verdict(made.batch(0, 10, true), known), Verdict::duplicate);
  EXPECT_EQ(verdict(made.batch(3, 4), known), Verdict::duplicate);
  EXPECT_EQ(verdict(made.batch(8, 7), known), Verdict::news);
  EXPECT_EQ(known.at(made.id()).next_slot, 15u);
}

TEST(Progress, AGapChangesNothing) {
  const Made made;
  ProgressMap known;
  EXPECT_EQ(verdict(made.batch(0, 10), known), Verdict::gap);  // not known, no head
  EXPECT_EQ(verdict(made.batch(5, 5, true), known), Verdict::gap);
  EXPECT_TRUE(known.empty());
  EXPECT_EQ(verdict(made.batch(0, 10, true), known), Verdict::news);
  EXPECT_EQ(verdict(made.batch(11, 1), known), Verdict::gap);
  EXPECT_EQ(known.at(made.id()).next_slot, 10u);
}

TEST(Progress, TheEndIsToldOnceAndNothingFollowsIt) {
  const Made made;
  ProgressMap known;
  EXPECT_EQ(verdict(made.batch(0, 10, true), known), Verdict::news);
  EXPECT_EQ(verdict(made.batch(10, 0, false, kChunkFinal), known), Verdict::news);
  EXPECT_TRUE(known.at(made.id()).is_final());
  EXPECT_EQ(verdict(made.batch(10, 0, false, kChunkFinal), known), Verdict::duplicate);
  EXPECT_EQ(verdict(made.batch(0, 10), known), Verdict::duplicate);  // an old one, late
  EXPECT_TRUE(known.at(made.id()).is_final());
  EXPECT_EQ(verdict(made.batch(10, 1), known), Verdict::nonsense);
}

TEST(Progress, NonsenseIsRefused) {
  const Made made;
  ProgressMap known;
  EXPECT_EQ(verdict(made.batch(0, 1u << 21, true), known), Verdict::nonsense);  // slots_max
  Made other;
  other.journal.fixed.attempt = 8;
  record::finish_header(other.journal.fixed);
  ASSERT_EQ(verdict(made.batch(0, 1, true), known), Verdict::news);
  EXPECT_EQ(verdict(other.batch(0, 1, true), known), Verdict::nonsense);
  EXPECT_EQ(judge(made.batch(0, 1, true), "other", 7, known).verdict, Verdict::nonsense);
  ASSERT_EQ(judge(other.batch(0, 1, true), "bytes", 8, known).verdict, Verdict::news);
  Batch mixed = made.batch(1, 1);
  mixed.chunks.push_back(other.batch(1, 1).chunks.front());
  EXPECT_EQ(verdict(mixed, known), Verdict::nonsense);
  EXPECT_EQ(known.at(made.id()).next_slot, 1u);
}

// Whatever is sent again, cut in other places, late or out of order: what is news adds up to every
// slot once, in order.
TEST(Progress, AnyOrderOfSendingComesToTheSame) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Made made;
    ProgressMap known;
    std::uint64_t taken = 0;
    int sent = 0;
    while (taken < 500) {
      ASSERT_LT(++sent, 100'000);
      const std::uint64_t first = random() % 520;
      const auto slots = static_cast<std::uint32_t>(random() % 40);
      const Judgement judged =
          judge(made.batch(first, slots, random() % 4 == 0), "bytes", 7, known);
      const std::uint64_t end = first + slots;
      const bool is_known = known.contains(made.id());
      if (judged.verdict == Verdict::gap) {
        ASSERT_TRUE(first > taken || !is_known);
      } else {
        ASSERT_NE(judged.verdict, Verdict::nonsense);
        ASSERT_LE(first, taken);
        if (end > taken) {
          ASSERT_EQ(judged.verdict, Verdict::news);
          taken = end;
        }
      }
      if (is_known) {
        ASSERT_EQ(known.at(made.id()).next_slot, taken);
      }
    }
  }
}

}  // namespace
}  // namespace headway::ingest
