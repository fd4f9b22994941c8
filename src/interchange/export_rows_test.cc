#include "interchange/export_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "fleet/bucket_words.h"
#include "fleet/test_facts.h"
#include "interchange/test_util.h"

namespace headway::interchange {
namespace {

using fleet::AttemptFacts;
using nlohmann::json;
using ::testing::HasSubstr;

std::string rows_of(RowKind kind, RowFormat format, std::string_view job,
                    const std::vector<AttemptFacts>& facts, TextRule rule = {}) {
  const TempDir dir;
  const std::string path = dir.path() + "/out";
  auto out = OutFile::open(path);
  EXPECT_TRUE(out.ok());
  RowWriter writer(*out, kind, format, std::move(rule));
  writer.add(job, facts);
  EXPECT_TRUE(out->commit().ok());
  return read_all(path);
}

std::vector<json> lines(const std::string& text) {
  std::vector<json> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
  return out;
}

TEST(ExportRows, AnAttemptIsARow) {
  AttemptFacts facts = fleet::facts_by_hand(3, "dlrm", 8, 60, 30, 10);
  facts.levers = {"cache", "replica"};
  facts.hosts = {"a", "b"};
  facts.start = fleet::start_by_hand(100, 50, true);
  facts.failure = fleet::FailureFact{.t_ns = 7,
                                     .origin = fleet::Origin::infra,
                                     .category = "gpu_lost",
                                     .host = "b",
                                     .lost_ns = 4,
                                     .unsaved_ns = 2,
                                     .time_to_recover_ns = {}};
  facts.ending = fleet::Ending::failed;
  const auto rows = lines(rows_of(RowKind::attempts, RowFormat::jsonl, "j", {facts}));
  ASSERT_EQ(rows.size(), 1u);
  const json& row = rows[0];
  EXPECT_EQ(row["job"], "j");
  EXPECT_EQ(row["attempt"], 3);
  EXPECT_EQ(row["family"], "dlrm");
  EXPECT_EQ(row["team"], "");
  EXPECT_EQ(row["size"], "8-63");
  EXPECT_EQ(row["levers"], json::parse(R"(["cache","replica"])"));
  EXPECT_EQ(row["wall_ns"], 100);
  EXPECT_EQ(row["effective_ns"], 60);
  EXPECT_EQ(row["compile_cold_ns"], 30);
  EXPECT_EQ(row["down_ns"], 10);
  EXPECT_EQ(row["failure_ns"], 10);
  EXPECT_EQ(row["start_kind"], "recover");
  EXPECT_EQ(row["start_length_ns"], 50);
  EXPECT_EQ(row["failure_origin"], "infra");
  EXPECT_TRUE(row["failure_recovered_ns"].is_null());
  std::vector<std::string> names;
  for (const auto& [name, value] : row.items()) names.push_back(name);
  auto columns = RowWriter::columns(RowKind::attempts);
  std::ranges::sort(columns);
  EXPECT_EQ(names, columns);
  EXPECT_THAT(rows_of(RowKind::attempts, RowFormat::csv, "j", {facts}),
              HasSubstr("j,3,dlrm,,,,8-63,,,,,8,cache;replica,a;b,"));
}

TEST(ExportRows, DaysOfAnAttemptAddUpToIt) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const fleet::MadeJob& job : fleet::made_jobs(kSeed, 40)) {
    const auto whole = lines(rows_of(RowKind::attempts, RowFormat::jsonl, job.name, job.attempts));
    const auto days = lines(rows_of(RowKind::days, RowFormat::jsonl, job.name, job.attempts));
    ASSERT_EQ(whole.size(), job.attempts.size());
    for (const json& row : whole) {
      for (const std::string& column : RowWriter::columns(RowKind::days)) {
        if (!column.ends_with("_ns") && column != "saves") continue;
        std::int64_t sum = 0;
        for (const json& day : days) {
          if (day["attempt"] == row["attempt"]) sum += day[column].get<std::int64_t>();
        }
        EXPECT_EQ(sum, row[column].get<std::int64_t>()) << job.name << " " << column;
      }
      std::int64_t buckets_ns = 0;
      for (const auto& [name, value] : row.items()) {
        if (fleet::bucket_of(name.substr(0, name.size() - 3))) {
          buckets_ns += value.get<std::int64_t>();
        }
      }
      EXPECT_EQ(buckets_ns, row["wall_ns"].get<std::int64_t>());
    }
  }
}

TEST(ExportRows, ADayIsARowWithItsDate) {
  const auto rows = lines(rows_of(RowKind::days, RowFormat::jsonl, "j",
                                  {fleet::facts_by_hand(1, "x", 1, 1, 1, 1, 20'727)}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["day"], "2026-10-01");
}

// Whatever texts an attempt has, a row is a row.
TEST(ExportRows, TextsAreQuotedAndMadeUtf8) {
  AttemptFacts facts = fleet::facts_by_hand(1, "a,\"b\"\n\xff", 1, 1, 1, 1);
  const std::string csv = rows_of(RowKind::attempts, RowFormat::csv, "j", {facts});
  EXPECT_THAT(csv, HasSubstr("j,1,\"a,\"\"b\"\"\n\xEF\xBF\xBD\","));
  const auto rows = lines(rows_of(RowKind::attempts, RowFormat::jsonl, "j", {facts}));
  EXPECT_EQ(rows[0]["family"], "a,\"b\"\n\xEF\xBF\xBD");
  const auto hide = [](std::string_view key, std::string_view text) {
    return key == "family" ? std::string("[hidden]") : std::string(text);
  };
  EXPECT_THAT(rows_of(RowKind::attempts, RowFormat::csv, "j", {facts}, hide),
              HasSubstr("j,1,[hidden],"));
}

TEST(ExportRows, AnEmptyTableHasItsHeader) {
  EXPECT_THAT(rows_of(RowKind::days, RowFormat::csv, "j", {}),
              testing::StartsWith("job,attempt,day,family,team,"));
  EXPECT_EQ(rows_of(RowKind::days, RowFormat::jsonl, "j", {}), "");
}

}  // namespace
}  // namespace headway::interchange
