// What becomes of batches on their way into a store that is damaged, and of what is too old, for
// every engine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "collector/fleet_tables.h"
#include "collector/intake.h"
#include "collector/retention.h"
#include "store/engines.h"
#include "store/sqlite.h"

namespace headway::collector {
namespace {

using store::Sender;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Answer final : public net::Reply {
 public:
  void send(net::ServerAnswer answer) override { promise_.set_value(std::move(answer)); }
  std::shared_ptr<net::AnswerStream> stream(net::ServerAnswer) override { return nullptr; }
  net::ServerAnswer get() { return promise_.get_future().get(); }

 private:
  std::promise<net::ServerAnswer> promise_;
};

class IntakeTest : public store::StoreTest {
 protected:
  // Behind the store's back.
  void sql(const std::string& sqlite, const std::string& postgres) {
    if (std::string(GetParam().name) == "sqlite") {
      auto db = store::Connection::open(dir_.path() + "/store.db", store::Connection::Mode::write);
      ASSERT_TRUE(db.ok());
      const base::Status status = (*db)->run(sqlite.c_str());
      ASSERT_TRUE(status.ok()) << status.message();
      return;
    }
    std::string database = "t";
    for (const char c : dir_.path()) database += std::isalnum(c) != 0 ? std::string(1, c) : "_";
    store::PostgresServer::shared().sql(database, postgres);
  }
  std::unique_ptr<Intake> intake() {
    IntakeOptions options;
    options.commit_gap_ns = 200'000'000;  // so that what is offered together is kept together
    return std::make_unique<Intake>(*store_, jobs(), options, [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    });
  }
  Jobs& jobs() {
    if (!jobs_) jobs_ = std::make_unique<Jobs>(*store_, JobsOptions{});
    return *jobs_;
  }
  static std::shared_ptr<Answer> offer(Intake& to, const std::string& job,
                                       const std::vector<std::byte>& batch) {
    auto answer = std::make_shared<Answer>();
    to.offer({"t", job, 1, std::string(reinterpret_cast<const char*>(batch.data()), batch.size()),
              answer});
    return answer;
  }

  std::unique_ptr<Jobs> jobs_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

TEST_P(IntakeTest, ADamagedJobCostsTheOthersNothing) {
  constexpr int count = 9;
  std::vector<Sender> senders;
  for (int i = 0; i < count; ++i) senders.emplace_back(0, fmt::format("job{}", i));
  const auto into = intake();
  std::vector<std::shared_ptr<Answer>> answers;
  const auto all = [&](std::uint64_t at) {
    answers.clear();
    for (int i = 0; i < count; ++i) {
      answers.push_back(offer(*into, senders[i].job, senders[i].batch(at, 5)));
    }
    std::vector<int> out;
    for (const auto& answer : answers) out.push_back(answer->get().status);
    return out;
  };
  EXPECT_THAT(all(0), ::testing::Each(200));
  const std::string which = "WHERE job = (SELECT key FROM {}job WHERE name = 'job3')";
  sql("UPDATE journal SET last = x'00' " + fmt::format(fmt::runtime(which), ""),
      "UPDATE headway.journal SET last = '\\x00' " + fmt::format(fmt::runtime(which), "headway."));
  for (const std::uint64_t at : {5u, 10u}) {
    std::vector<int> wanted(count, 200);
    wanted[3] = 503;
    EXPECT_EQ(all(at), wanted);
  }
  {
    const std::lock_guard lock(mutex_);  // said once, whose it is and what is wrong
    ASSERT_EQ(log_.size(), 1u) << log_.back();
    EXPECT_THAT(log_[0], HasSubstr("job job3 of tenant t is not taken in, others are: "));
    EXPECT_THAT(log_[0], HasSubstr("a row of the table journal is damaged"));
  }
  for (int i = 0; i < count; ++i) {
    const auto job = store_->find_job("t", senders[i].job);
    EXPECT_EQ(stored(job.value()->key).size(), i == 3 ? 1u : 3u) << i;
  }
}

TEST_P(IntakeTest, WhatIsNewerThanThisCollectorIsToldToComeLater) {
  Sender sender(0);
  auto batch = sender.batch(0, 5);
  batch[8] = std::byte{2};  // the version
  const net::ServerAnswer answer = offer(*intake(), "job", batch)->get();
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("is of version 2; this collector reads version 1"));
}

TEST_P(IntakeTest, WhatIsOldIsForgottenUnlessTheClockHasJumped) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000, day_ns = 24 * hour_ns;
  std::atomic<std::int64_t> now_ns{1000 * day_ns}, steady_ns{5 * day_ns};
  Sender old(0, "old"), middle(0, "middle"), young(0, "young");
  for (auto [sender, age] : {std::pair(&old, 800), {&middle, 100}, {&young, 1}}) {
    auto out = append_one(*store_, sender->batch(0, 5), sender->job, 1, "t", now_ns - age * day_ns);
    ASSERT_TRUE(out.ok()) << out.status().message();
    ASSERT_TRUE(store_->put_facts(std::vector<store::FactPut>{{out->job, 1, out->seq, {}}}).ok());
  }
  FleetTables tables(*store_);
  RetentionOptions options;
  options.keep_raw_ns = 90 * day_ns;
  options.keep_facts_ns = 730 * day_ns;
  options.real_ns = [&] { return now_ns.load(); };
  options.steady_ns = [&] { return steady_ns.load(); };
  std::vector<std::string> log;
  const auto rows = [&] {
    int facts = 0;
    EXPECT_TRUE(store_->facts(0, [&](const store::FactRow&) { return ++facts > 0; }).ok());
    return std::vector<int>{
        static_cast<int>(stored(store_->find_job("t", "old").value()->key).size()),
        static_cast<int>(stored(store_->find_job("t", "middle").value()->key).size()),
        static_cast<int>(stored(store_->find_job("t", "young").value()->key).size()), facts};
  };
  {
    now_ns -= 720 * day_ns;  // all is young yet
    Retention retention(
        *store_, tables, options, [&](const std::string& line) { log.push_back(line); },
        [](const std::vector<std::string>&) {});
    retention.look();
    now_ns += 720 * day_ns;
    retention.look();
    EXPECT_THAT(rows(), ElementsAre(1, 1, 1, 3));
    EXPECT_EQ(log.size(), 1u);
    EXPECT_THAT(log.at(0), HasSubstr("the clock has jumped by 720d: nothing is forgotten"));
    EXPECT_GE(retention.counts().errors, 1u);
  }
  Retention retention(
      *store_, tables, options, [](const std::string&) {}, [](const std::vector<std::string>&) {});
  retention.look();
  EXPECT_THAT(rows(), ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(retention.counts().jobs, 2u);
  EXPECT_EQ(retention.counts().facts, 1u);
  std::vector<std::string> without;
  ASSERT_TRUE(store_
                  ->jobs_without_facts(now_ns - *options.keep_facts_ns,
                                       [&](const std::string& tenant, const std::string& job) {
                                         without.push_back(tenant + "/" + job);
                                       })
                  .ok());
  EXPECT_THAT(without, ElementsAre("t/old"));
  // A day passes on both clocks: that is no jump.
  now_ns += 90 * day_ns;
  steady_ns += 90 * day_ns;
  retention.look();
  EXPECT_THAT(rows(), ElementsAre(0, 0, 0, 2));
  EXPECT_EQ(retention.counts().errors, 0u);
  EXPECT_THAT(store_->check().value(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Engines, IntakeTest, ::testing::ValuesIn(store::engines()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace headway::collector
