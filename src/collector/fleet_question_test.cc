// What of a question is taken, and what is refused: as openapi.json describes it.
#include "collector/fleet_question.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collector/fleet_api.h"

namespace headway::collector {
namespace {

using fleet::Dimension;

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
