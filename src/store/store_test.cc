// What every engine promises, tested for each of them.
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "store/sqlite_store.h"
#include "store/test_util.h"

namespace headway::store {
namespace {

using ingest::Verdict;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Engine {
  const char* name;
  std::function<std::unique_ptr<Store>(const std::string& dir)> open;
};

class StoreTest : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override { reopen(); }
  void reopen() {
    store_.reset();
    store_ = GetParam().open(dir_.path());
    ASSERT_NE(store_, nullptr);
  }
  Verdict verdict(const std::vector<std::byte>& bytes) {
    auto out = append_one(*store_, bytes);
    EXPECT_TRUE(out.ok()) << out.status().message();
    return out->judgement.verdict;
  }
  std::vector<std::vector<std::byte>> stored(JobKey job, std::uint64_t attempt = 1,
                                             std::int64_t after = 0) {
    std::vector<std::vector<std::byte>> out;
    std::int64_t last = after;
    const base::Status status = store_->batches(job, attempt, after, [&](const BatchRow& row) {
      EXPECT_GT(row.seq, last);
      last = row.seq;
      out.push_back(row.bytes);
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return out;
  }

  base::TempDir dir_;
  std::unique_ptr<Store> store_;
};

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
  EXPECT_TRUE(store_->remove_token(added->id).value());
  EXPECT_FALSE(store_->remove_token(added->id).value());
  EXPECT_THAT(store_->tokens().value(), IsEmpty());
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
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(store_->check().value(), IsEmpty());
  const auto copy = GetParam().open(copies);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(append_one(*copy, bytes)->judgement.verdict, Verdict::duplicate);
}

std::vector<std::byte> text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// "job attempt: bytes", in the order of their changes; `seen` goes on.
std::vector<std::string> changed(Store& store, std::int64_t& seen,
                                 std::size_t rows_max = SIZE_MAX) {
  std::vector<std::string> out;
  if (rows_max == 0) return out;
  const base::Status status = store.facts(seen, [&](const FactRow& row) {
    EXPECT_GT(row.change, seen);
    seen = row.change;
    std::string text(row.bytes.size(), ' ');
    std::memcpy(text.data(), row.bytes.data(), text.size());
    out.push_back(row.tenant + "/" + row.job + " " + std::to_string(row.attempt) + ": " + text);
    return out.size() < rows_max;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST_P(StoreTest, FactsAreToldOnceInTheOrderOfTheirChanges) {
  Sender a(0), b(0, "other");
  const JobKey one = append_one(*store_, a.batch(0, 1))->job;
  const JobKey two = append_one(*store_, b.batch(0, 1), "other")->job;
  std::int64_t seen = 0;
  EXPECT_THAT(changed(*store_, seen), IsEmpty());
  ASSERT_TRUE(store_
                  ->put_facts(std::vector<FactPut>{{one, 1, 5, text_bytes("a")},
                                                   {one, 2, 5, text_bytes("b")},
                                                   {two, 1, 6, text_bytes("")}})
                  .ok());
  EXPECT_THAT(changed(*store_, seen, 2), ElementsAre("t/job 1: a", "t/job 2: b"));
  EXPECT_THAT(changed(*store_, seen), ElementsAre("t/other 1: "));
  EXPECT_THAT(changed(*store_, seen), IsEmpty());
  // From less: passed over. From as much, by one who knows better: taken.
  ASSERT_TRUE(store_
                  ->put_facts(std::vector<FactPut>{{one, 1, 4, text_bytes("older")},
                                                   {one, 2, 5, text_bytes("as old")},
                                                   {one, 1, 9, text_bytes("newer")}})
                  .ok());
  reopen();
  EXPECT_THAT(changed(*store_, seen), ElementsAre("t/job 2: as old", "t/job 1: newer"));
  std::int64_t anew = 0;
  EXPECT_THAT(changed(*store_, anew),
              ElementsAre("t/other 1: ", "t/job 2: as old", "t/job 1: newer"));
  EXPECT_EQ(anew, seen);
}

TEST_P(StoreTest, FactsArePutTogetherOrNotAtAll) {
  Sender a(0);
  const JobKey one = append_one(*store_, a.batch(0, 1))->job;
  EXPECT_FALSE(store_
                   ->put_facts(std::vector<FactPut>{{one, 1, 5, text_bytes("a")},
                                                    {one + 1000, 1, 5, text_bytes("nobody's")}})
                   .ok());
  std::int64_t seen = 0;
  EXPECT_THAT(changed(*store_, seen), IsEmpty());
  ASSERT_TRUE(store_->put_facts({}).ok());
  ASSERT_TRUE(store_->put_facts(std::vector<FactPut>{{one, 1, 5, text_bytes("a")}}).ok());
  EXPECT_THAT(changed(*store_, seen), ElementsAre("t/job 1: a"));
}

// Somebody reads on from the last change that they have seen, while others put: in the end they
// have the newest of all.
TEST_P(StoreTest, AReaderOfChangesMissesNone) {
  constexpr int writers_max = 4, rounds = 60;
  std::vector<JobKey> jobs;
  for (int i = 0; i < writers_max; ++i) {
    const std::string job = "job" + std::to_string(i);
    jobs.push_back(append_one(*store_, Sender(0, job).batch(0, 1), job)->job);
  }
  std::atomic<int> left{writers_max};
  std::vector<std::thread> writers;
  for (int i = 0; i < writers_max; ++i) {
    writers.emplace_back([&, i] {
      for (int round = 1; round <= rounds; ++round) {
        const auto text = text_bytes(std::to_string(round));
        // The neighbour's as well, in another order than it does: nobody may wait for ever.
        const JobKey other = jobs[(i + 1) % writers_max];
        const base::Status status = store_->put_facts(
            std::vector<FactPut>{{jobs[i], 1, round, text}, {other, 2, round, text}});
        EXPECT_TRUE(status.ok()) << status.message();
      }
      --left;
    });
  }
  std::map<std::string, std::string> last;
  std::int64_t seen = 0;
  for (bool over = false; !over;) {
    over = left == 0;
    for (const std::string& row : changed(*store_, seen)) {
      last[row.substr(0, row.find(':'))] = row.substr(row.find(':') + 2);
    }
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(last.size(), 2u * writers_max);
  for (const auto& [what, value] : last) EXPECT_EQ(value, std::to_string(rounds)) << what;
}

TEST_P(StoreTest, AnAlertKeepsItsIdAndHasTheNewestDocument) {
  auto first = store_->put_alert({0, "t", "slow", "{\"n\":1}", 10});
  ASSERT_TRUE(first.ok()) << first.status().message();
  auto second = store_->put_alert({0, "t", "lost", "{}", 20});
  auto foreign = store_->put_alert({0, "u", "slow", "{\"u\":1}", 5});
  ASSERT_TRUE(second.ok() && foreign.ok());
  auto again = store_->put_alert({77, "t", "slow", "{\"n\":2}", 30});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->id, first->id);
  EXPECT_NE(second->id, first->id);
  EXPECT_NE(foreign->id, first->id);
  reopen();
  auto rows = store_->alerts("t", 10);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].id, first->id);
  EXPECT_EQ((*rows)[0].key, "slow");
  EXPECT_EQ((*rows)[0].document, "{\"n\":2}");
  EXPECT_EQ((*rows)[0].changed_ns, 30);
  EXPECT_EQ((*rows)[1].id, second->id);
  EXPECT_EQ(store_->alerts("", 10)->size(), 3u);
  EXPECT_EQ(store_->alerts("", 1)->size(), 1u);
}

TEST_P(StoreTest, BatchesOfOldJobsAreForgottenAndTheRestStays) {
  Sender a(0, "old"), b(0, "young");
  const auto first = a.batch(0, 10), second = a.batch(10, 5);
  auto old = append_one(*store_, first, "old", 1, "t", 10);
  ASSERT_TRUE(append_one(*store_, b.batch(0, 4), "young", 1, "t", 20).ok());
  auto young = append_one(*store_, b.batch(4, 4), "young", 1, "t", 100);
  // The newest of all batches is of a job that goes away.
  auto last = append_one(*store_, second, "old", 1, "t", 30);
  ASSERT_TRUE(
      store_->put_facts(std::vector<FactPut>{{old->job, 1, last->seq, text_bytes("sum")}}).ok());
  EXPECT_EQ(store_->forget_batches(30).value(), 0u);  // heard of then, not before
  EXPECT_EQ(store_->forget_batches(31).value(), 1u);
  EXPECT_EQ(store_->forget_batches(31).value(), 0u);
  EXPECT_THAT(stored(old->job), IsEmpty());
  EXPECT_EQ(store_->newest_seq(old->job).value(), 0);
  EXPECT_THAT(store_->journals(old->job).value(), IsEmpty());
  EXPECT_EQ(stored(young->job).size(), 2u);
  EXPECT_EQ(store_->find_job("t", "old").value()->heard_ns, 30);
  std::int64_t seen = 0;
  EXPECT_THAT(changed(*store_, seen), ElementsAre("t/old 1: sum"));
  EXPECT_THAT(store_->check().value(), IsEmpty());
  // What is sent again is taken from its beginning, and its numbers go on.
  reopen();
  EXPECT_EQ(append_one(*store_, second, "old", 1, "t", 200)->judgement.verdict, Verdict::gap);
  auto again = append_one(*store_, first, "old", 1, "t", 200);
  EXPECT_EQ(again->judgement.verdict, Verdict::news);
  EXPECT_EQ(again->job, old->job);
  EXPECT_FALSE(again->made_job);
  EXPECT_GT(again->seq, last->seq);
  EXPECT_EQ(stored(old->job).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreTest,
                         ::testing::Values(Engine{
                             "sqlite",
                             [](const std::string& dir) -> std::unique_ptr<Store> {
                               auto store = open_sqlite({dir + "/store.db"});
                               EXPECT_TRUE(store.ok()) << store.status().message();
                               return store.ok() ? std::move(*store) : nullptr;
                             }}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace headway::store
