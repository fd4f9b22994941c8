#include "collector/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace headway::collector {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;

class AuditTest : public ::testing::Test {
 protected:
  Audit make(AuditLimits limits = {}) {
    return Audit([this](const std::string& line) { lines_.push_back(json::parse(line)); }, limits);
  }
  // What the summaries say was left out of an address.
  std::uint64_t left_out(const std::string& peer, const std::string& status) const {
    std::uint64_t count = 0;
    for (const json& line : lines_) {
      if (line["peer"] == peer && line.contains("left_out")) {
        count += line["left_out"].value(status, std::uint64_t{0});
      }
    }
    return count;
  }
  std::vector<json> lines_;
};

TEST_F(AuditTest, ALineForEach) {
  Audit audit = make();
  audit.refused({"1.2.3.4", "GET", "/api/v1/jobs", 401, "no such token"}, "", 0);
  audit.refused({"1.2.3.4", "POST", "/x\xff" + std::string(5000, 'x'), 403, "no"}, "cluster a", 0);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0]["path"], "/api/v1/jobs");
  EXPECT_EQ(lines_[0]["status"], 401);
  EXPECT_EQ(lines_[0]["why"], "no such token");
  EXPECT_EQ(lines_[1]["token"], "cluster a");
  EXPECT_LT(lines_[1].dump().size(), 600u);
}

TEST_F(AuditTest, OneAddressCannotFillADisk) {
  Audit audit = make();
  for (int i = 0; i < 100'000; ++i) {
    audit.refused({"bad", "GET", "/", i % 2 == 0 ? 429 : 404, "no"}, "", i * kSecond / 1000);
  }
  audit.refused({"good", "GET", "/", 401, "no"}, "", 100 * kSecond);
  EXPECT_LT(lines_.size(), 70u);
  EXPECT_EQ(lines_.back()["peer"], "good");  // others have their own
  const std::size_t told = lines_.size() - 1;
  audit.tend(100 * kSecond);
  EXPECT_EQ(told + left_out("bad", "429") + left_out("bad", "404"), 100'000u);
  const std::size_t after = lines_.size();
  audit.tend(1000 * kSecond);
  EXPECT_EQ(lines_.size(), after);  // said once
}

TEST_F(AuditTest, NorCanManyAddresses) {
  Audit audit = make();
  for (int i = 0; i < 100'000; ++i) {
    audit.refused({"peer" + std::to_string(i), "GET", "/", 401, "no"}, "", 0);
  }
  EXPECT_LE(lines_.size(), 1000u);
  const std::size_t told = lines_.size();
  audit.tend(0, true);
  EXPECT_LE(lines_.size() - told, 21u);
  EXPECT_EQ(told + left_out("others", "401"), 100'000u);
}

TEST_F(AuditTest, WithoutAWriterNothingIsKept) {
  Audit audit({}, {});
  audit.refused({"p", "GET", "/", 401, "no"}, "", 0);
  audit.tend(0, true);
}

}  // namespace
}  // namespace headway::collector
