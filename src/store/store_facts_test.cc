// What every engine promises of what is made of batches, and of forgetting them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "store/engines.h"
#include "store/test_util.h"

namespace headway::store {
namespace {

using ingest::Verdict;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class StoreFactsTest : public StoreTest {};

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
    // Not from data(), which is null where there are no bytes.
    std::string text;
    for (const std::byte one : row.bytes) text.push_back(static_cast<char>(one));
    out.push_back(row.tenant + "/" + row.job + " " + std::to_string(row.attempt) + ": " + text);
    return out.size() < rows_max;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST_P(StoreFactsTest, FactsAreToldOnceInTheOrderOfTheirChanges) {
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
  EXPECT_THAT(changed(*store_, seen), UnorderedElementsAre("t/job 2: as old", "t/job 1: newer"));
  std::int64_t anew = 0;
  EXPECT_THAT(changed(*store_, anew),
              UnorderedElementsAre("t/other 1: ", "t/job 2: as old", "t/job 1: newer"));
  EXPECT_EQ(anew, seen);
}

TEST_P(StoreFactsTest, FactsArePutTogetherOrNotAtAll) {
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
TEST_P(StoreFactsTest, AReaderOfChangesMissesNone) {
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

TEST_P(StoreFactsTest, AnAlertKeepsItsIdAndHasTheNewestDocument) {
  const auto put = [&](AlertRow row, const std::string& before = "") {
    auto kept = store_->put_alert(std::move(row), before);
    EXPECT_TRUE(kept.ok()) << kept.status().message();
    return kept.ok() && kept->has_value() ? (*kept)->id : 0;
  };
  const auto first = put({0, "t", "slow", "{\"n\":1}", 10});
  const auto second = put({0, "t", "lost", "{}", 20}),
             foreign = put({0, "u", "slow", "{\"u\":1}", 5});
  EXPECT_GT(first, 0);
  EXPECT_EQ(put({77, "t", "slow", "{\"n\":2}", 30}, "{\"n\":1}"), first);
  EXPECT_NE(second, first);
  EXPECT_NE(foreign, first);
  reopen();
  auto rows = store_->alerts("t", 10);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].id, first);
  EXPECT_EQ((*rows)[0].key, "slow");
  EXPECT_EQ((*rows)[0].document, "{\"n\":2}");
  EXPECT_EQ((*rows)[0].changed_ns, 30);
  EXPECT_EQ((*rows)[1].id, second);
  EXPECT_EQ(store_->alerts("", 10)->size(), 3u);
  EXPECT_EQ(store_->alerts("", 1)->size(), 1u);
}

TEST_P(StoreFactsTest, AnAlertIsOnlyWrittenOverWhatItsWriterHasRead) {
  const auto put = [&](const std::string& document, const std::string& before) {
    auto kept = store_->put_alert({0, "t", "slow", document, 1}, before);
    EXPECT_TRUE(kept.ok()) << kept.status().message();
    return kept.ok() && kept->has_value();
  };
  EXPECT_FALSE(put("b", "a"));  // there is none
  EXPECT_TRUE(put("a", ""));
  EXPECT_FALSE(put("b", ""));  // there is one
  EXPECT_FALSE(put("c", "b"));
  EXPECT_TRUE(put("b", "a"));
  EXPECT_EQ(store_->alerts("t", 10)->at(0).document, "b");
  // Eight writers who each add one, over and over: none is lost.
  ASSERT_TRUE(put("0", "b"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int done = 0; done < 10;) {
        const std::string before = store_->alerts("t", 10)->at(0).document;
        done += put(std::to_string(std::stoi(before) + 1), before) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->alerts("t", 10)->at(0).document, "80");
}

TEST_P(StoreFactsTest, BatchesOfOldJobsAreForgottenAndTheRestStays) {
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

INSTANTIATE_TEST_SUITE_P(Engines, StoreFactsTest, ::testing::ValuesIn(engines()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace headway::store
