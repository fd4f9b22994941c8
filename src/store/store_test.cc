// What every engine promises, tested for each of them.
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "store/engines.h"
#include "store/test_util.h"

namespace headway::store {
namespace {

using ingest::Verdict;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_P(StoreTest, KeepsNewsOnceAndRemembersIt) {
  Sender sender(0);
  const auto first = sender.batch(0, 10), second = sender.batch(10, 5), gap = sender.batch(20, 5);
  EXPECT_EQ(verdict(second), Verdict::gap);
  EXPECT_EQ(verdict(first), Verdict::news);
  EXPECT_EQ(verdict(first), Verdict::duplicate);
  reopen();
  EXPECT_EQ(verdict(first), Verdict::duplicate);
  EXPECT_EQ(verdict(gap), Verdict::gap);
  auto out = append_one(*store_, second, "job", 1, "t", 77);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->judgement.verdict, Verdict::news);
  EXPECT_THAT(out->next, ElementsAre(std::pair(sender.id(), std::uint64_t{15})));
  EXPECT_THAT(stored(out->job), ElementsAre(first, second));
  auto journals = store_->journals(out->job);
  ASSERT_TRUE(journals.ok());
  ASSERT_EQ(journals->size(), 1u);
  EXPECT_EQ(journals->front().progress.next_slot, 15u);
  EXPECT_EQ(journals->front().progress.last.cursor, 15u);
  EXPECT_STREQ(journals->front().head.name, "rank.hwj");
  EXPECT_EQ(std::memcmp(&journals->front().head.journal, &sender.journal.fixed,
                        sizeof(sender.journal.fixed)),
            0);
}

TEST_P(StoreTest, JobsOfTenantsAndAttemptsAreApart) {
  Sender a(0), b(0, "other"), c(0, "job", 2);
  const auto of_a = a.batch(0, 1), of_b = b.batch(0, 2), of_c = c.batch(0, 3);
  auto one = append_one(*store_, of_a, "job", 1, "t", 10);
  auto two = append_one(*store_, of_a, "job", 1, "u", 20);
  auto three = append_one(*store_, of_b, "other", 1, "t", 30);
  auto four = append_one(*store_, of_c, "job", 2, "t", 40);
  for (auto* each : {&one, &two, &three, &four}) {
    ASSERT_TRUE(each->ok()) << each->status().message();
    EXPECT_EQ((*each)->judgement.verdict, Verdict::news);
  }
  EXPECT_EQ(one->job, four->job);
  EXPECT_NE(one->job, two->job);
  EXPECT_THAT(stored(one->job, 1), ElementsAre(of_a));
  EXPECT_THAT(stored(one->job, 2), ElementsAre(of_c));
  EXPECT_THAT(stored(one->job, 2, four->seq), IsEmpty());
  auto rows = store_->jobs("t", 10);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].name, "job");
  EXPECT_EQ((*rows)[0].first_ns, 10);
  EXPECT_EQ((*rows)[0].heard_ns, 40);
  EXPECT_EQ((*rows)[1].name, "other");
  EXPECT_EQ(store_->jobs("", 10)->size(), 3u);
  EXPECT_EQ(store_->jobs("", 1)->size(), 1u);
  EXPECT_EQ(store_->find_job("u", "job").value()->key, two->job);
  EXPECT_FALSE(store_->find_job("u", "other")->has_value());
}

TEST_P(StoreTest, ASignOfLifeIsHeardAndNotKept) {
  Sender sender(0);
  auto first = append_one(*store_, sender.batch(0, 3), "job", 1, "t", 10);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(append_one(*store_, sender.batch(3, 0), "job", 1, "t", 20)->judgement.verdict,
            Verdict::duplicate);
  EXPECT_EQ(store_->jobs("", 1)->front().heard_ns, 20);
  EXPECT_EQ(stored(first->job).size(), 1u);
}

TEST_P(StoreTest, NonsenseMakesNoJob) {
  Sender sender(0);
  auto out = append_one(*store_, sender.batch(0, 3), "another");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->judgement.verdict, Verdict::nonsense);
  EXPECT_THAT(store_->jobs("", 9).value(), IsEmpty());
  EXPECT_EQ(append_one(*store_, sender.batch(3, 3))->judgement.verdict, Verdict::gap);
  EXPECT_THAT(store_->jobs("", 9).value(), IsEmpty());
}

TEST_P(StoreTest, ManyAppendsAreJudgedOneAfterTheOther) {
  Sender sender(0), other(1);
  const std::vector<std::vector<std::byte>> bytes = {sender.batch(0, 5), sender.batch(5, 5),
                                                     other.batch(0, 1), sender.batch(5, 5),
                                                     sender.batch(11, 5)};
  std::vector<ingest::Batch> batches;
  for (const auto& each : bytes) batches.push_back(ingest::Batch::parse(each, "batch").value());
  std::vector<Append> appends;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    appends.push_back({"t", "job", 1, &batches[i], bytes[i], 5});
  }
  auto out = store_->append(appends);
  ASSERT_TRUE(out.ok()) << out.status().message();
  std::vector<Verdict> verdicts;
  for (const Appended& each : *out) verdicts.push_back(each.judgement.verdict);
  EXPECT_THAT(verdicts, ElementsAre(Verdict::news, Verdict::news, Verdict::news, Verdict::duplicate,
                                    Verdict::gap));
}

TEST_P(StoreTest, TokensComeAndGo) {
  EXPECT_FALSE(store_->has_had_tokens().value());
  Token token{0, "t", Role::ingest, "cluster a", {}, 5};
  token.hash[3] = 9;
  auto added = store_->add_token(token);
  ASSERT_TRUE(added.ok());
  EXPECT_FALSE(store_->add_token(token).ok());  // the same once more
  reopen();
  auto tokens = store_->tokens();
  ASSERT_TRUE(tokens.ok());
  ASSERT_EQ(tokens->size(), 1u);
  EXPECT_EQ(tokens->front().id, added->id);
  EXPECT_EQ(tokens->front().role, Role::ingest);
  EXPECT_EQ(tokens->front().label, "cluster a");
  EXPECT_EQ(tokens->front().hash, token.hash);
  EXPECT_TRUE(store_->has_had_tokens().value());
  EXPECT_TRUE(store_->remove_token(added->id).value());
  EXPECT_FALSE(store_->remove_token(added->id).value());
  EXPECT_THAT(store_->tokens().value(), IsEmpty());
  // That there was one is not forgotten, and nothing can be removed of that.
  EXPECT_TRUE(store_->has_had_tokens().value());
  for (std::int64_t id = 0; id < 10; ++id) EXPECT_FALSE(store_->remove_token(id).value());
  token.hash[3] = 10;
  added = store_->add_token(token);
  ASSERT_TRUE(added.ok());
  EXPECT_TRUE(store_->remove_token(added->id).value());
  EXPECT_THAT(store_->tokens().value(), IsEmpty());
  EXPECT_TRUE(store_->has_had_tokens().value());
}

TEST_P(StoreTest, ReadersSeeWholeBatchesWhileOthersWrite) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<std::thread> writers;
  std::atomic<int> left{3};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    writers.emplace_back([&, rank] {
      std::mt19937 random(seed + rank);
      Sender sender(rank);
      std::uint64_t at = 0;
      for (int i = 0; i < 100; ++i) {
        const auto slots = static_cast<std::uint32_t>(1 + random() % 20);
        auto out = append_one(*store_, sender.batch(at, slots));
        EXPECT_TRUE(out.ok() && out->judgement.verdict == Verdict::news);
        at += slots;
      }
      --left;
    });
  }
  while (left > 0) {
    auto job = store_->find_job("t", "job");
    ASSERT_TRUE(job.ok());
    if (!job->has_value()) continue;
    ingest::ProgressMap known;
    for (const auto& bytes : stored(job.value()->key)) {
      auto batch = ingest::Batch::parse(bytes, "stored");
      ASSERT_TRUE(batch.ok());
      ASSERT_EQ(ingest::judge(*batch, "job", 1, known).verdict, Verdict::news);
    }
  }
  for (std::thread& writer : writers) writer.join();
}

TEST_P(StoreTest, ABackUpIsWholeAndGood) {
  Sender sender(0);
  const auto bytes = sender.batch(0, 10);
  ASSERT_EQ(verdict(bytes), Verdict::news);
  const std::string copies = dir_.path() + "/copies";
  ASSERT_TRUE(base::make_dirs(copies).ok());
  const base::Status status = store_->back_up(copies + "/store.db");
  if (!GetParam().copies) {
    EXPECT_THAT(status.message(), HasSubstr("pg_dump"));
    return;
  }
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(store_->check().value(), IsEmpty());
  const auto copy = GetParam().open(copies);
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(append_one(*copy.value(), bytes)->judgement.verdict, Verdict::duplicate);
}

TEST_P(StoreTest, NewsTellWhatWasNewestBefore) {
  Sender one(0), other(0, "other");
  const auto first = append_one(*store_, one.batch(0, 5)).value();
  EXPECT_EQ(first.before_seq, 0);
  EXPECT_TRUE(first.made_job);
  ASSERT_TRUE(append_one(*store_, other.batch(0, 5), "other").ok());
  const auto batch = one.batch(5, 5);
  const auto second = append_one(*store_, batch).value();
  EXPECT_EQ(second.before_seq, first.seq);
  EXPECT_FALSE(second.made_job);
  EXPECT_EQ(append_one(*store_, batch)->before_seq, 0);
  EXPECT_EQ(store_->newest_seq(first.job).value(), second.seq);
  // Two at once follow each other as well.
  const std::vector<std::vector<std::byte>> bytes = {one.batch(10, 5), one.batch(15, 5)};
  std::vector<ingest::Batch> batches;
  for (const auto& each : bytes) batches.push_back(ingest::Batch::parse(each, "batch").value());
  const Append appends[] = {{"t", "job", 1, &batches[0], bytes[0], 5},
                            {"t", "job", 1, &batches[1], bytes[1], 5}};
  auto both = store_->append(appends);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ((*both)[0].before_seq, second.seq);
  EXPECT_EQ((*both)[1].before_seq, (*both)[0].seq);
}

TEST_P(StoreTest, WhatIsNoTextIsNobodysJob) {
  Sender sender(0);
  const auto bytes = sender.batch(0, 5);
  for (const std::string& name : {std::string("\xff\xfe"), std::string("a\0b", 3)}) {
    auto out = append_one(*store_, bytes, name);
    ASSERT_TRUE(out.ok()) << out.status().message();
    EXPECT_EQ(out->judgement.verdict, Verdict::nonsense);
    EXPECT_FALSE(store_->find_job("t", name)->has_value());
  }
  EXPECT_EQ(verdict(bytes), Verdict::news);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreTest, ::testing::ValuesIn(engines()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace headway::store
