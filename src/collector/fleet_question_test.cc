// What of a question is taken, and what is refused: as openapi.json describes it.
#include "collector/fleet_question.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "collector/fleet_api.h"
#include "fleet/test_facts.h"

namespace headway::collector {
namespace {

using fleet::Dimension;
using nlohmann::json;

net::ServerRequest asked(std::vector<std::pair<std::string, std::string>> query) {
  net::ServerRequest request;
  request.query = std::move(query);
  return request;
}

TEST(FleetQuestion, OneDimensionOrTwo) {
  using Dimensions = std::vector<Dimension>;
  EXPECT_EQ(dimensions_of("").value(), Dimensions{});
  EXPECT_EQ(dimensions_of("team").value(), Dimensions{Dimension::team});
  EXPECT_EQ(dimensions_of("team,family").value(), (Dimensions{Dimension::team, Dimension::family}));
  for (const char* text : {",", "team,", ",team", "team,,family", "team, family", "Team", "day",
                           "team,family,size", "team,family,"}) {
    EXPECT_FALSE(dimensions_of(text).ok()) << text;
  }
}

TEST(FleetQuestion, DaysOfUpToTwoDimensions) {
  for (const char* text : {"family,team,day", "family,day,team", "day,family,team"}) {
    auto by = by_of(text);
    ASSERT_TRUE(by.ok()) << text;
    EXPECT_TRUE(by->day);
    EXPECT_EQ(by->dimensions, (std::vector<Dimension>{Dimension::family, Dimension::team}));
  }
  EXPECT_TRUE(by_of("day")->day);
  EXPECT_FALSE(by_of("family")->day || by_of("")->day);
  for (const char* text : {"day,day", "family,day,day", "day,", ",day", "Day", "days",
                           "family,team,size", "family,team,size,day", "day,family,team,size"}) {
    EXPECT_FALSE(by_of(text).ok()) << text;
  }
}

TEST(FleetQuestion, WhatARollUpIsAskedByIsAnsweredOrRefused) {
  fleet::FleetTable table;
  for (std::int32_t day = 0; day < 3; ++day) {
    table.upsert(fmt::format("job-{}", day),
                 fleet::facts_by_hand(1, day == 1 ? "dlrm" : "bert", 2, fleet::kHourNs, 0, 0,
                                      fleet::kDay + day));
  }
  const auto snapshot = table.snapshot();
  const auto ask = [&](const char* by) {
    return fleet_answer(Place::rollup, asked({{"by", by}}), *snapshot);
  };
  const auto answer = ask("day,family");
  ASSERT_EQ(answer.status, 200);
  const json told = json::parse(answer.body);
  EXPECT_EQ(told["by"], json::parse(R"(["family","day"])"));
  std::vector<json> keys;
  for (const json& group : told["groups"]) {
    keys.push_back(group["key"]);
    EXPECT_EQ(group["device_hours"], 2.0);
  }
  const auto key = [](const char* family, std::int32_t day) {
    return json{{"family", family}, {"day", fleet::day_text(fleet::kDay + day)}};
  };
  EXPECT_EQ(keys, (std::vector<json>{key("bert", 0), key("bert", 2), key("dlrm", 1)}));
  EXPECT_EQ(told["total"]["device_hours"], 6.0);
  for (const char* by : {"", "day", "family,team,day", "revision,config,day"}) {
    EXPECT_EQ(ask(by).status, 200) << by;
  }
  for (const char* by : {"day,day", "family,team,size", "day,family,team,size", "host,day", ","}) {
    EXPECT_EQ(ask(by).status, 400) << by;
  }
}

TEST(FleetQuestion, NumbersHaveToBeNumbersInTheirRange) {
  EXPECT_EQ(number_of(asked({}), "limit", 5, 1, 10).value(), 5);
  EXPECT_EQ(number_of(asked({{"limit", "10"}}), "limit", 5, 1, 10).value(), 10);
  for (const char* text : {"", "0", "11", "+5", " 5", "5.0", "5x", "99999999999999999999"}) {
    EXPECT_FALSE(number_of(asked({{"limit", text}}), "limit", 5, 1, 10).ok()) << text;
  }
}

TEST(FleetQuestion, SoManyConditions) {
  net::ServerRequest request;
  for (std::size_t i = 0; i < where_max; ++i) {
    request.query.emplace_back("where", fmt::format("team:t{}", i));
  }
  EXPECT_EQ(where_of(request, "where")->size(), where_max);
  request.query.emplace_back("where", "team:one too many");
  EXPECT_FALSE(where_of(request, "where").ok());
  EXPECT_FALSE(where_of(asked({{"where", "team"}}), "where").ok());
  EXPECT_EQ(where_of(asked({{"where", "team:"}}), "where")->front().value, "");
}

TEST(FleetQuestion, AnArgumentThatIsEmptyIsNotOneThatIsMissing) {
  const auto snapshot = fleet::FleetTable().snapshot();
  EXPECT_EQ(jobs_answer(asked({}), *snapshot, 0).status, 200);
  EXPECT_EQ(jobs_answer(asked({{"state", "failed"}}), *snapshot, 0).status, 200);
  EXPECT_EQ(jobs_answer(asked({{"before", "17950:nightly"}}), *snapshot, 0).status, 200);
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"state", ""}, {"state", "lost"}, {"before", ""}, {"before", "17950"}, {"limit", ""}}) {
    EXPECT_EQ(jobs_answer(asked({{name, value}}), *snapshot, 0).status, 400) << name << value;
  }
}

}  // namespace
}  // namespace headway::collector
