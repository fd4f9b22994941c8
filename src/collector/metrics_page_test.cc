#include "collector/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fleet/test_facts.h"

namespace headway::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t kNow = (fleet::kDay + 91) * fleet::kDayNs;

std::string page(std::string_view accept) {
  const auto jobs = fleet::made_jobs(3, 200);
  MetricsBook book;
  CollectorCounts counts;
  counts.version = "1.2";
  counts.engine = "sqlite";
  counts.started_ns = 1'500'000'000;
  counts.intake.batches = 7;
  counts.intake.store_errors = 2;
  counts.store_free_bytes = 4096;
  counts.facts_left_out.hosts_dropped = 5;
  counts.otlp = CollectorCounts::Otlp{};
  counts.otlp->sent.signals[0].dropped = 4;
  AlertCounts alerts;
  alerts.open = 3;
  alerts.components["compile_cold"] = {.regressions = 3, .device_hours_per_day = 36};
  return metrics_answer(book.families("t", *fleet::snapshot_of(jobs), counts, alerts, kNow), accept)
      .body;
}

TEST(MetricsPage, TellsOfTheCollector) {
  const std::string text = page("*/*");
  EXPECT_THAT(text, StartsWith("# TYPE headway_collector_build_info gauge\n"));
  EXPECT_THAT(text,
              HasSubstr("headway_collector_build_info{version=\"1.2\",engine=\"sqlite\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("headway_collector_start_time_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("headway_collector_batches_total{outcome=\"kept\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("headway_collector_store_errors_total 2\n"));
  EXPECT_THAT(text,
              HasSubstr("headway_otlp_items_total{signal=\"spans\",outcome=\"dropped\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("headway_collector_store_free_bytes 4096\n"));
  EXPECT_THAT(text, HasSubstr("headway_collector_left_out_facts_total{what=\"hosts\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("headway_fleet_regressions{state=\"open\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("headway_fleet_open_regressions{component=\"compile_cold\"} 3\n"));
  EXPECT_THAT(
      text,
      HasSubstr("headway_fleet_open_regressions_lost_devices{component=\"compile_cold\"} 1.5\n"));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(MetricsPage, NamesNoJobNorHost) {
  const std::string text = page("*/*");
  std::set<std::string> values;  // of labels
  for (std::size_t at = text.find("=\""); at != text.npos; at = text.find("=\"", at + 2)) {
    values.insert(text.substr(at + 2, text.find('"', at + 2) - at - 2));
  }
  EXPECT_TRUE(values.contains("family-0"));
  for (const fleet::MadeJob& job : fleet::made_jobs(3, 200)) {
    EXPECT_FALSE(values.contains(job.name));
    for (const fleet::AttemptFacts& facts : job.attempts) {
      for (const std::string& host : facts.hosts) EXPECT_FALSE(values.contains(host));
    }
  }
}

TEST(MetricsPage, SpeaksTheFormatThatIsAskedFor) {
  MetricsBook book;
  const auto families = book.families("t", *fleet::FleetTable().snapshot(), {}, {}, kNow);
  const std::string prometheus =
      "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
  EXPECT_THAT(metrics_answer(families, prometheus).content_type,
              StartsWith("application/openmetrics-text; version=1.0.0"));
  EXPECT_THAT(metrics_answer(families, "").content_type, StartsWith("application/openmetrics"));
  const net::ServerAnswer older = metrics_answer(families, "text/plain");
  EXPECT_THAT(older.content_type, StartsWith("text/plain; version=0.0.4"));
  EXPECT_THAT(older.body, Not(HasSubstr("# EOF")));
}

TEST(MetricsPage, HowSoonRegressionsWereFoundOfSoManyComponentsAtMost) {
  AlertCounts alerts;
  for (int i = 0; i < 60; ++i) {
    alerts.sla.push_back({"failures:c" + std::to_string(i), 604'800, 100, 200.5, 1, 0});
  }
  alerts.sla.push_back({"imports", 172'800, 3600, 7200, 5, 2});
  CollectorCounts counts;
  counts.webhook.refused = 3;
  const std::string text =
      metrics_answer(metric_families(counts, alerts, FleetCounters()), "*/*").body;
  EXPECT_THAT(text, HasSubstr("headway_fleet_time_to_alert_seconds{component=\"imports\","
                              "share=\"0.9\"} 7200"));
  EXPECT_THAT(text, HasSubstr("headway_fleet_time_to_alert_target_seconds{component=\"imports\"} "
                              "172800"));
  EXPECT_THAT(text, HasSubstr("headway_fleet_alerts{component=\"imports\",late=\"yes\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("headway_fleet_alerts{component=\"imports\",late=\"no\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("headway_webhook_messages_total{outcome=\"refused\"} 3\n"));
  std::size_t components = 0;
  for (std::size_t at = text.find("late=\"yes\""); at != text.npos;
       at = text.find("late=\"yes\"", at + 1)) {
    ++components;
  }
  EXPECT_EQ(components, 50u);
}

TEST(MetricsPage, TenantsAreCountedApart) {
  fleet::FleetTable table;
  MetricsBook book;
  const auto told = [&](const std::string& tenant) {
    return interchange::to_text(book.families(tenant, *table.snapshot(), {}, {}, kNow),
                                interchange::TextFormat::openmetrics);
  };
  (void)told("a");
  table.upsert("j", fleet::facts_by_hand(1, "dlrm", 1, fleet::kSecondNs, 0, 0));
  const std::string sample =
      "headway_fleet_device_seconds_total{family=\"dlrm\",team=\"\",cluster=\"\",hardware=\"\","
      "group=\"effective\",bucket=\"effective\"} ";
  EXPECT_THAT(told("a"), HasSubstr(sample + "1\n"));
  book.begin("b", *table.snapshot(), kNow);
  EXPECT_THAT(told("b"), HasSubstr(sample + "0\n")) << "it was there when the collector began";
  EXPECT_THAT(told("c"), HasSubstr(sample + "1\n")) << "it has come since, asked for or not";
}

}  // namespace
}  // namespace headway::collector
