// The interface's description against the code: its places, roles, words and limits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/job_path.h"
#include "collector/cache_api.h"
#include "collector/fleet_question.h"
#include "collector/page.h"
#include "collector/route.h"
#include "event/vocabulary.h"
#include "fleet/bucket_words.h"
#include "fleet/job_list.h"
#include "fleet/trend.h"
#include "fleet/waterfall.h"
#include "ingest/format.h"
#include "metrics/job_state.h"
#include "regress/component.h"
#include "regress/dip.h"
#include "timeline/lane.h"
#include "timeline/segment.h"

namespace headway::collector {
namespace {

using nlohmann::json;
using Words = std::set<std::string>;

const json& document() {
  static const json kDocument = json::parse(page_answer("/openapi.json", "", "").body);
  return kDocument;
}

// "/api/v1/jobs/{job}/report" → "/api/v1/jobs/nightly/report".
std::string filled(std::string path) {
  static const std::map<std::string, std::string> kValues = {
      {"{job}", "nightly"},
      {"{attempt}", "65537"},
      {"{id}", "7"},
      {"{family}", "dlrm"},
      {"{binding}", std::string(64, '0')},
      {"{file}", std::string(64, 'f') + ".hwc"}};
  for (const auto& [name, value] : kValues) {
    if (const auto at = path.find(name); at != std::string::npos) {
      path.replace(at, name.size(), value);
    }
  }
  return path;
}

json security_of(const Route& route, store::Role role) {
  if (route.open) return json::array();
  return json::array(
      {{{"token", json::array({std::string(store::role_name(role))})}}, json::object()});
}

TEST(OpenApi, EveryPlaceIsDescribedOnce) {
  std::map<Place, std::string> described;
  for (const auto& [path, item] : document()["paths"].items()) {
    const Route route = route_of(filled(path));
    EXPECT_TRUE(route.place != Place::none && route.place != Place::page) << path;
    const bool fresh = described.emplace(route.place, path).second;
    if (route.place == Place::caches) {  // several methods, and a place for each archive
      const std::map<std::string, std::string> methods = {
          {"GET", "get"}, {"PUT", "put"}, {"DELETE", "delete"}};
      for (const auto& [method, word] : methods) {
        const auto role = CacheApi::role_for(route, method);
        ASSERT_EQ(item.contains(word), role.has_value()) << path << method;
        if (role) EXPECT_EQ(item[word]["security"], security_of(route, *role)) << path << method;
      }
      continue;
    }
    EXPECT_TRUE(fresh) << path;
    ASSERT_EQ(item.size(), 1u) << path;
    EXPECT_EQ(item.begin().key(), route.method == "GET" ? "get" : "post") << path;
    EXPECT_EQ(item.front()["security"], security_of(route, route.role)) << path;
  }
  for (std::size_t i = 0; i < kPlaces; ++i) {
    const auto place = static_cast<Place>(i);
    EXPECT_EQ(described.contains(place), place != Place::none && place != Place::page) << i;
  }
}

template <typename Kind, typename Name>
Words names(std::size_t count, Name name) {
  Words out;
  for (std::size_t i = 0; i < count; ++i) out.emplace(name(static_cast<Kind>(i)));
  return out;
}

Words metric_words() {
  Words out;
  for (std::size_t i = 0; i < timeline::kBuckets; ++i) {
    out.insert(fleet::metric_name({fleet::Metric::Kind::bucket, static_cast<timeline::Bucket>(i)}));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(fleet::Metric::Kind::bucket); ++i) {
    out.insert(fleet::metric_name({static_cast<fleet::Metric::Kind>(i), {}}));
  }
  return out;
}

Words metric_units() {
  Words out;
  for (const std::string& name : metric_words()) {
    out.emplace(fleet::metric_unit(*fleet::parse_metric(name)));
  }
  return out;
}

std::map<std::string, Words> known_words() {
  using Checkpoint = std::uint16_t;
  Words roles = {"open"};
  for (const auto role : {store::Role::ingest, store::Role::read, store::Role::admin}) {
    roles.emplace(store::role_name(role));
  }
  Words states = names<Checkpoint>(HW_CHECKPOINT_FAILED + 1, event::checkpoint_state_name);
  states.erase("");
  Words origins = names<int>(HW_ORIGIN_UNKNOWN + 1, event::origin_name);
  origins.erase("");
  return {
      {"Dimension", names<fleet::Dimension>(fleet::kDimensions, fleet::dimension_name)},
      {"Role", roles},
      {"ListedState", names<fleet::JobState>(4, fleet::job_state_name)},
      {"ReportState", names<metrics::JobState>(6, metrics::job_state_name)},
      {"Bucket", names<timeline::Bucket>(timeline::kBuckets, fleet::bucket_word)},
      {"BucketGroup", names<timeline::Group>(timeline::kGroups, timeline::group_name)},
      {"Metric", metric_words()},
      {"MetricUnit", metric_units()},
      {"StepKind", names<fleet::WaterfallStep::Kind>(5, fleet::step_kind_name)},
      {"Origin", origins},
      {"CheckpointState", states},
      {"TermKind", names<regress::TermKind>(4, regress::term_kind_name)},
      {"RegressionUnit", names<regress::Kind>(regress::kKinds, regress::component_unit)},
      // Those that no function names. What the server takes of them, and what it says, is compared
      // with the description by tests/collector/test_openapi.py.
      {"Weight", {"device", "job"}},
      {"Outcome", {"running", "clean", "failed"}},
      {"GroupUnit", {"device_hours", "pct"}},
      {"WaterfallMetric", {"time_to_start_s", "ett_pct"}},
      {"WaterfallSplit", {"component", "lever"}},
      {"WaterfallUnit", {"s", "%"}},
      {"RegressionState", {"open", "acknowledged", "gone"}},
      {"RegressionsAsked", {"open", "all"}},
      {"AnnouncedState", {"open", "gone"}},
      {"AnnouncementOutcome", {"waiting", "taken", "refused", "given_up"}},
  };
}

void find_enums(const json& value, const std::string& place, std::map<std::string, Words>& out) {
  if (value.is_object() && value.contains("enum") && value["enum"].is_array()) {
    out[place] = value["enum"].get<Words>();
  }
  if (!value.is_structured()) return;
  for (const auto& [name, each] : value.items()) find_enums(each, place + "/" + name, out);
}

TEST(OpenApi, EveryWordIsKnown) {
  std::map<std::string, Words> wanted, found;
  for (const auto& [name, words] : known_words()) wanted["/components/schemas/" + name] = words;
  find_enums(document(), "", found);
  EXPECT_EQ(found, wanted);
  EXPECT_TRUE(fleet::waterfall_metric_of("ett_pct") && fleet::waterfall_split_of("lever"));
  const json& schemas = document()["components"]["schemas"];
  EXPECT_EQ(schemas["Group"]["properties"]["buckets"]["required"].get<Words>(),
            wanted["/components/schemas/Bucket"]);
  EXPECT_EQ(schemas["Dimensions"]["required"].get<Words>(),
            wanted["/components/schemas/Dimension"]);
}

// Of a parameter of a place.
json parameter(const std::string& path, const std::string& name) {
  for (json each : document()["paths"][path].front()["parameters"]) {
    if (each.contains("$ref"))
      each = document()[json::json_pointer(each["$ref"].get<std::string>().substr(1))];
    if (each["name"] == name) return each["schema"];
  }
  return {};
}

TEST(OpenApi, TheLimitsAreThose) {
  EXPECT_EQ(parameter("/api/v1/jobs", "limit")["maximum"], fleet::JobQuestion::limit_max);
  EXPECT_EQ(parameter("/api/v1/jobs", "limit")["default"], fleet::JobQuestion().limit);
  EXPECT_EQ(parameter("/api/v1/jobs", "where")["maxItems"], where_max);
  EXPECT_EQ(parameter("/api/v1/fleet/waterfall", "where_b")["maxItems"], where_max);
  const std::string timeline = "/api/v1/jobs/{job}/timeline";
  EXPECT_EQ(parameter(timeline, "slices")["maximum"], timeline::LaneWindow::slices_max);
  EXPECT_EQ(parameter(timeline, "from_ns")["minimum"], -timeline::kTimeMax);
  EXPECT_EQ(parameter(timeline, "to_ns")["maximum"], timeline::kTimeMax);
  const json& batch = document()["paths"]["/api/v1/ingest/{job}/{attempt}"]["post"]["requestBody"];
  EXPECT_EQ(batch["description"], fmt::format("At most {} bytes.", ingest::batch_bytes_max));
}

// A roll-up's `by`: every row of up to four of these words is taken exactly where it is described.
TEST(OpenApi, WhatRollUpsAreAskedByIsWhatIsTaken) {
  std::string pattern;
  for (const json& parameter : document()["paths"]["/api/v1/fleet/rollup"]["get"]["parameters"]) {
    if (parameter.value("name", "") == "by") pattern = parameter["schema"]["pattern"];
  }
  const std::regex described(pattern);
  std::vector<std::string> rows = {""};
  for (std::size_t at = 0, length = 1; length <= 4; ++length) {
    for (const std::size_t end = rows.size(); at < end; ++at) {
      for (const char* word : {"day", "family", "config", "host"}) {
        rows.push_back(length == 1 ? word : rows[at] + "," + word);
      }
    }
  }
  int taken = 0;
  for (const std::string& row : rows) {
    EXPECT_EQ(by_of(row).ok(), std::regex_match(row, described)) << row;
    taken += by_of(row).ok() ? 1 : 0;
  }
  EXPECT_EQ(taken, 1 + 3 + 2 * 2 + 2 * 2 + 3 * 4);
}

TEST(OpenApi, NamesAreThose) {
  const json job = parameter("/api/v1/jobs/{job}/report", "job");
  EXPECT_EQ(job["maxLength"], base::job_name_bytes_max);
  const std::regex name(job["pattern"].get<std::string>());
  for (int byte = 1; byte < 128; ++byte) {
    const std::string first(1, static_cast<char>(byte)), second = "x" + first;
    EXPECT_EQ(std::regex_match(first, name), base::is_job_name(first)) << byte;
    EXPECT_EQ(std::regex_match(second, name), base::is_job_name(second)) << byte;
  }
  const std::regex where(
      document()["components"]["schemas"]["Where"]["pattern"].get<std::string>());
  for (std::size_t i = 0; i < fleet::kDimensions; ++i) {
    const std::string word(fleet::dimension_name(static_cast<fleet::Dimension>(i)));
    EXPECT_TRUE(std::regex_search(word + ":x", where)) << word;
    EXPECT_FALSE(std::regex_search(word, where) || std::regex_search("x" + word + ":", where));
  }
}

}  // namespace
}  // namespace headway::collector
