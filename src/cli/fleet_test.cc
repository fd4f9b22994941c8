// `headway fleet` on this machine, on journals of the made-up fleet. On Spark: tests/spark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/job_path.h"
#include "cli/fleet_job.h"
#include "cli/fleet_local.h"
#include "cli/fleet_summary.h"
#include "demo/told_job.h"
#include "event/record.h"
#include "fleet/bucket_words.h"

namespace headway::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::int64_t kNow = 1'795'000'000'000'000'000;

void write(const demo::JournalMaker& journal, const std::string& path) {
  event::LiveFields live{};
  live.cursor = journal.records().size() | event::kSealedBit;
  live.limit = journal.records().size();
  live.closed = 1;
  std::string head(event::kHeaderBytes, '\0');
  std::memcpy(head.data(), &journal.header(), sizeof(event::HeaderFields));
  std::memcpy(head.data() + event::kLiveOffset, &live, sizeof live);
  std::ofstream out(path, std::ios::binary);
  out << head;
  out.write(reinterpret_cast<const char*>(journal.records().data()),
            static_cast<std::streamsize>(journal.records().size() * sizeof(event::Record)));
}

class Fleet : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "headway-fleet-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    for (const demo::PlannedJob& plan : demo::plan_fleet(5, kNow, 1)) {
      if (names_.size() == 8) break;
      names_.push_back(plan.name);
      for (const demo::ToldAttempt& attempt : demo::tell(plan).attempts) {
        const std::string folder = base::attempt_dir(root_, plan.name, attempt.id);
        fs::create_directories(folder);
        for (const auto& journal : attempt.journals) write(journal, folder + "/" + journal.file());
      }
    }
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string root_;
  std::vector<std::string> names_;
};

TEST_F(Fleet, SumsAreThoseOfItsJobs) {
  std::array<base::Int128, timeline::kBuckets> device_ns{};
  std::uint64_t attempts = 0;
  for (const std::string& name : names_) {
    auto facts = facts_of_folder(root_ + "/" + name);
    ASSERT_TRUE(facts.ok()) << facts.status().message();
    EXPECT_EQ(facts->job, name);
    EXPECT_TRUE(facts->notes.empty());
    attempts += facts->attempts.size();
    for (const auto& attempt : facts->attempts) {
      for (const auto& slice : attempt.slices) {
        for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
          device_ns[i] += base::Int128{slice.sums.ns[i]} * attempt.devices;
        }
      }
    }
  }
  for (const std::size_t threads : {1u, 3u}) {
    auto summary = attribute_fleet(root_, fleet::Dimension::family, threads);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_EQ(summary->jobs, names_.size());
    EXPECT_EQ(summary->attempts, attempts);
    std::array<base::Int128, timeline::kBuckets> found{};
    for (const FleetGroup& group : summary->groups) {
      for (std::size_t i = 0; i < timeline::kBuckets; ++i) found[i] += group.device_ns[i];
    }
    EXPECT_TRUE(found == device_ns);
    EXPECT_THAT(to_text(*summary, {}), HasSubstr("device-hours"));
  }
}

TEST_F(Fleet, WhatCannotBeReadIsToldAndTheRestCounts) {
  const std::string first = root_ + "/" + names_[0];
  for (const auto& file : fs::recursive_directory_iterator(first)) {
    if (file.is_regular_file()) std::ofstream(file.path()) << "no journal";
  }
  fs::copy(root_ + "/" + names_[1], root_ + "/another", fs::copy_options::recursive);
  fs::create_directories(root_ + "/empty");
  EXPECT_FALSE(facts_of_folder(first).ok());
  auto summary = attribute_fleet(root_, fleet::Dimension::team, 2);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->jobs, names_.size() - 1);
  EXPECT_EQ(summary->jobs_lost, 2u);
  ASSERT_EQ(summary->notes.size(), 2u);
  for (const FleetNote& note : summary->notes) {
    if (note.job == names_[0]) {
      EXPECT_EQ(note.file, first);
    } else {
      EXPECT_EQ(note.job, names_[1]);
      EXPECT_EQ(note.file, root_ + "/another");
      EXPECT_THAT(note.reason, HasSubstr(root_ + "/" + names_[1]));
    }
  }
  EXPECT_FALSE(attribute_fleet(root_ + "/empty", fleet::Dimension::team, 1).ok());
  EXPECT_FALSE(attribute_fleet(root_ + "/nowhere", fleet::Dimension::team, 1).ok());
}

// As Spark's driver tells it.
std::string told(const std::string& sum) {
  Json buckets = Json::object();
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    buckets[std::string(fleet::bucket_word(static_cast<timeline::Bucket>(i)))] = "0";
  }
  buckets["effective"] = sum;
  buckets["replay"] = sum;
  const Json group = {{"key", "dlrm"},        {"jobs", 1},
                      {"attempts", 2},        {"failures", 3},
                      {"device_ns", buckets}, {"failure_device_ns", sum}};
  const Json out = {{"journals", "/j"},
                    {"out", "/o"},
                    {"jobs", 1},
                    {"attempts", 2},
                    {"bytes", 3},
                    {"tasks", 4},
                    {"first_day", "2026-01-01"},
                    {"last_day", nullptr},
                    {"by", "family"},
                    {"groups", {group}},
                    {"lost", {{"job", 0}, {"file", 0}, {"records", 0}}},
                    {"notes", Json::array()},
                    {"timings_s", {{"list", 0.5}}}};
  return out.dump();
}

TEST(FleetSummary, SumsWiderThan64BitsStayExact) {
  const std::string wide = "12345678901234567890123456789012345678";
  auto summary = read_summary(told(wide));
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  const Json json = to_json(*summary);
  EXPECT_EQ(json["total"]["device_ns"]["effective"], wide);
  EXPECT_DOUBLE_EQ(json["total"]["ett_pct"], 50);
  EXPECT_DOUBLE_EQ(json["total"]["failure_pct"], 50);
  EXPECT_EQ(json["losses"][0]["bucket"], "replay");
  EXPECT_EQ(json["last_day"], nullptr);
}

TEST(FleetSummary, AnotherAnswerIsAnError) {
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[1]"), told("12x"),
                                  told(""), told("123456789012345678901234567890123456789")}) {
    EXPECT_FALSE(read_summary(text).ok()) << text;
  }
}

}  // namespace
}  // namespace headway::cli
