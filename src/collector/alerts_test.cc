// What becomes of alerts when several write them, when a write fails, and when what was gone comes
// back.
#include "collector/alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/temp_dir.h"
#include "collector/alert_document.h"
#include "store/sqlite.h"
#include "store/sqlite_store.h"

namespace headway::collector {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

regress::Regression slow(const std::string& key, double hours = 5,
                         regress::Verdict verdict = regress::Verdict::open) {
  regress::Regression out;
  out.key = key;
  out.component = {regress::Kind::start, timeline::Bucket::compile_cold, {}};
  out.members = {"compile_cold|" + key};
  out.verdict = verdict;
  out.began_day = 20'000;
  out.found_ns = 7;
  out.device_hours_per_day = hours;
  return out;
}

class AlertsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = store::open_sqlite({dir_.path() + "/store.db"});
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::move(*store);
  }
  AlertChanges look(Alerts& alerts, std::vector<regress::Regression> found,
                    const std::function<void()>& meanwhile = {}) {
    return alerts.update(
        "t",
        [&](std::vector<regress::Known> known) {
          known_.clear();
          for (const regress::Known& each : known) known_.push_back(each.key);
          if (meanwhile) meanwhile();
          regress::Findings out;
          out.regressions = std::move(found);
          return out;
        },
        [](std::size_t) { return std::pair(std::string("job"), std::int64_t{1}); }, ++now_ns_);
  }
  json kept(const std::string& key) {
    auto rows = store_->alerts("t", 100);
    EXPECT_TRUE(rows.ok());
    for (const store::AlertRow& row : *rows) {
      if (row.key != key) continue;
      json document = json::parse(row.document);
      document["id"] = row.id;
      return document;
    }
    return nullptr;
  }
  static std::vector<std::string> keys(const std::vector<store::AlertRow>& rows) {
    std::vector<std::string> out;
    for (const store::AlertRow& row : rows) out.push_back(row.key);
    return out;
  }
  void sql(const std::string& text) {
    auto db = store::Connection::open(dir_.path() + "/store.db", store::Connection::Mode::write);
    ASSERT_TRUE(db.ok()) << db.status().message();
    ASSERT_TRUE((*db)->run(text.c_str()).ok());
  }

  base::TempDir dir_;
  std::unique_ptr<store::Store> store_;
  std::vector<std::string> known_;
  std::int64_t now_ns_ = 100;
};

TEST_F(AlertsTest, OneThatCannotBeWrittenTakesNothingFromTheOthers) {
  Alerts alerts(*store_);
  sql("CREATE TRIGGER full BEFORE INSERT ON alert WHEN NEW.key='b' "
      "BEGIN SELECT RAISE(ABORT, 'full'); END");
  AlertChanges changes = look(alerts, {slow("a"), slow("b"), slow("c")});
  EXPECT_FALSE(changes.status.ok());
  EXPECT_THAT(keys(changes.rows), ElementsAre("a", "c"));
  EXPECT_EQ(alerts.to_announce()->size(), 2u);
  sql("DROP TRIGGER full");
  changes = look(alerts, {slow("a"), slow("b"), slow("c")});
  EXPECT_TRUE(changes.status.ok()) << changes.status.message();
  EXPECT_THAT(keys(changes.rows), ElementsAre("b"));
  // A process that ended in between has still to tell of all three.
  EXPECT_EQ(Alerts(*store_).to_announce()->size(), 3u);
}

TEST_F(AlertsTest, AnAcknowledgementDuringALookStays) {
  Alerts here(*store_), elsewhere(*store_);
  look(here, {slow("a")});
  const std::int64_t id = kept("a")["id"];
  // The same object and another one: neither waits for the look to end, and neither is lost.
  for (Alerts* alerts : {&elsewhere, &here}) {
    const std::string by = alerts == &here ? "here" : "elsewhere";
    const AlertChanges changes = look(here, {slow("a", 5 + static_cast<double>(now_ns_))}, [&] {
      auto row = alerts->acknowledge("t", id, by, "", 9);
      ASSERT_TRUE(row.ok() && row->has_value());
    });
    EXPECT_TRUE(changes.status.ok()) << changes.status.message();
    EXPECT_THAT(keys(changes.rows), ElementsAre("a"));
    EXPECT_EQ(kept("a")["state"], "acknowledged");
    EXPECT_EQ(kept("a")["acknowledged"]["by"], by);
    EXPECT_EQ(kept("a")["device_hours_per_day"], 5 + static_cast<double>(now_ns_ - 1));
  }
}

TEST_F(AlertsTest, WhatWasGoneAndIsFoundAgainIsNews) {
  Alerts alerts(*store_);
  look(alerts, {slow("a")});
  const std::int64_t id = kept("a")["id"];
  EXPECT_TRUE(alerts.acknowledge("t", id, "me", "", 9).ok());
  EXPECT_TRUE(alerts.announced("t", id, 1, "taken", 10).ok());
  EXPECT_THAT(alerts.to_announce().value(), IsEmpty());
  look(alerts, {slow("a", 5, regress::Verdict::gone)});
  EXPECT_THAT(known_, ElementsAre("a"));
  EXPECT_EQ(kept("a")["announcement"]["number"], 2);
  EXPECT_EQ(kept("a")["announcement"]["state"], "gone");
  // The word on the first one comes late: it is not about the second.
  EXPECT_TRUE(alerts.announced("t", id, 1, "taken", 11).ok());
  EXPECT_EQ(alerts.to_announce()->size(), 1u);
  EXPECT_TRUE(alerts.announced("t", id, 2, "taken", 12).ok());
  const AlertChanges changes = look(alerts, {slow("a")});
  EXPECT_THAT(known_, IsEmpty());
  EXPECT_THAT(keys(changes.rows), ElementsAre("a"));
  const json back = kept("a");
  EXPECT_EQ(back["id"], id);
  EXPECT_EQ(back["state"], "open");
  EXPECT_TRUE(back["acknowledged"].is_null());
  EXPECT_TRUE(back.contains("back_ns"));
  ASSERT_EQ(alerts.to_announce()->size(), 1u);
  const WebhookMessage message = announcement(alerts.to_announce()->front());
  EXPECT_EQ(message.id, "t-" + std::to_string(id) + "-3");
  EXPECT_EQ(json::parse(message.body)["state"], "open");
  EXPECT_FALSE(json::parse(message.body)["regression"].contains("members"));
}

TEST_F(AlertsTest, WhatCostsLittleIsKeptAndAnnouncedWhenItCostsMore) {
  AlertOptions options;
  options.announce_from = 10;
  Alerts alerts(*store_, options);
  look(alerts, {slow("a", 9)});
  EXPECT_EQ(kept("a")["state"], "open");
  EXPECT_THAT(alerts.to_announce().value(), IsEmpty());
  look(alerts, {slow("a", 11)});
  EXPECT_EQ(alerts.to_announce()->size(), 1u);
  // That of nobody's hearing that it began, nobody hears that it is gone.
  look(alerts, {slow("b", 1)});
  look(alerts, {slow("b", 1, regress::Verdict::gone)});
  EXPECT_EQ(alerts.to_announce()->size(), 1u);
}

TEST_F(AlertsTest, WhatIsGoneStaysGoneWhenSomebodyAcknowledgesIt) {
  Alerts alerts(*store_);
  look(alerts, {slow("a")});
  look(alerts, {slow("a", 5, regress::Verdict::gone)});
  auto row = alerts.acknowledge("t", kept("a")["id"], "me", "", 9);
  ASSERT_TRUE(row.ok() && row->has_value());
  EXPECT_EQ(json::parse((*row)->document)["state"], "gone");
  EXPECT_FALSE(alerts.acknowledge("u", kept("a")["id"], "me", "", 9)->has_value());
}

}  // namespace
}  // namespace headway::collector
