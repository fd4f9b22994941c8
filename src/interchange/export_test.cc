#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "interchange/export_csv.h"
#include "interchange/export_jsonl.h"
#include "interchange/export_openmetrics.h"
#include "interchange/export_perfetto.h"
#include "interchange/job_input.h"
#include "interchange/test_util.h"
#include "timeline/job.h"

namespace headway::interchange {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kLines =
    R"({"t":10,"job":"j","attempt":1,"type":"attr","key":"family","value":"dl\"rm"}
{"t":10,"job":"j","attempt":1,"rank":"agent","type":"mark","name":"allocated"}
{"t":11,"job":"j","attempt":1,"type":"begin","phase":"pre_train"}
{"t":12,"job":"j","attempt":1,"type":"begin","phase":"my, phase"}
{"t":13,"job":"j","attempt":1,"type":"end","phase":"pre_train"}
{"t":14,"job":"j","attempt":1,"type":"end","phase":"my, phase"}
{"t":15,"job":"j","attempt":1,"type":"step","step":1,"data":64}
{"t":16.5,"job":"j","attempt":1,"type":"step_end","step":1}
{"t":16.5,"job":"j","attempt":1,"type":"checkpoint","step":1,"state":"durable"}
{"t":16.75,"job":"j","attempt":1,"type":"device_done","step":1}
{"t":17,"job":"j","attempt":1,"type":"step","step":2}
{"t":17,"job":"j","attempt":1,"lane":3,"type":"begin","phase":"compile"}
{"t":30,"job":"j","attempt":1,"rank":"agent","type":"hang","since":18,"of_rank":0}
{"t":31,"job":"j","attempt":1,"rank":"agent","type":"mark","name":"failure","origin":"infra","reason":"gone","signal":9,"of_rank":0}
{"t":32,"job":"j","attempt":1,"rank":"agent","type":"mark","name":"exit","signal":9}
{"t":40,"job":"j","attempt":2,"type":"restore","step":1,"data":64,"tier":"replica"}
{"t":41,"job":"j","attempt":2,"type":"step","step":2,"data":128}
{"t":42,"job":"j","attempt":2,"type":"step_end","step":2,"data":128}
{"t":43,"job":"j","attempt":2,"rank":"agent","type":"mark","name":"job_end"}
)";

event::JobStreams loaded(const TempDir& dir, const std::string& text) {
  auto job = load_job(dir.write("in.jsonl", text), {});
  EXPECT_TRUE(job.ok()) << job.status().message();
  return std::move(job.value());
}

template <typename F>
std::string exported(const TempDir& dir, const event::JobStreams& job, F&& writer,
                     const TextRule& rule = {}) {
  const std::string path = dir.path() + "/out";
  auto out = OutFile::open(path);
  EXPECT_TRUE(out.ok());
  EXPECT_TRUE(writer(job, *out, rule).ok());
  EXPECT_TRUE(out->commit().ok());
  return read_all(path);
}

TEST(Export, LinesReadBackAsTheSameStreams) {
  const TempDir dir;
  const auto job = loaded(dir, kLines);
  const std::string text = exported(dir, job, export_jsonl);
  const auto again = loaded(dir, text);
  EXPECT_EQ(lines_of(again), lines_of(job));
  EXPECT_EQ(exported(dir, again, export_jsonl), text);
  const timeline::JobResult x = timeline::attribute_job(job, {});
  const timeline::JobResult y = timeline::attribute_job(again, {});
  EXPECT_EQ(x.ledger.total().sums, y.ledger.total().sums);
  EXPECT_GT(x.ledger.total().sums.total(), 0);
}

// Slices of one thread must nest, or viewers drop them.
void expect_nested(const json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    const double ts = e["ts"];
    const double dur = e["dur"];
    threads[{e["pid"].get<int>(), e["tid"].get<int>()}].emplace_back(ts, ts + dur);
  }
  for (auto& [thread, slices] : threads) {
    if (thread.second >= 100000) continue;  // steps and hangs may overlap in garbage
    std::sort(slices.begin(), slices.end(), [](const auto& x, const auto& y) {
      return x.first != y.first ? x.first < y.first : x.second > y.second;
    });
    std::vector<double> open;
    for (const auto& [begin, end] : slices) {
      while (!open.empty() && open.back() <= begin) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end, open.back());
      }
      open.push_back(end);
    }
  }
}

TEST(Export, PerfettoIsJsonAndNests) {
  const TempDir dir;
  const json trace = json::parse(exported(dir, loaded(dir, kLines), export_perfetto));
  expect_nested(trace);
  EXPECT_EQ(trace["otherData"]["zero_ns"], "10000000000");
  std::map<std::string, int> names;
  bool open = false;
  for (const json& e : trace["traceEvents"]) {
    names[e["name"]]++;
    open = open || (e["name"] == "compile" && e["args"].value("open", false));
  }
  EXPECT_TRUE(open) << "a span that never ended is told as far as it is known";
  EXPECT_EQ(names["my, phase"], 2) << "a crossing span comes in two pieces";
  EXPECT_EQ(names["step 1"], 1);
  EXPECT_EQ(names["failure"], 1);
  EXPECT_EQ(names["hang"], 1);
}

TEST(Export, AnyStreamGivesValidFiles) {
  constexpr unsigned kSeed = 99;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  for (int round = 0; round < 30; ++round) {
    std::string text;
    for (int i = 0; i < 300; ++i) {
      const std::string head = R"({"t":)" + std::to_string(random() % 40) +
                               R"(,"job":"j","lane":)" + std::to_string(random() % 2) + ",";
      const char* kinds[] = {R"("type":"begin","phase":"a"})", R"("type":"end","phase":"a"})",
                             R"("type":"begin","phase":"b"})", R"("type":"end","phase":"b"})",
                             R"("type":"step","step":3})",     R"("type":"step_end","step":3})",
                             R"("type":"hang","since":90})"};
      text += head + kinds[random() % 7] + "\n";
    }
    const TempDir dir;
    const auto job = loaded(dir, text);
    expect_nested(json::parse(exported(dir, job, export_perfetto)));
    const std::string csv = exported(dir, job, export_csv);
    EXPECT_EQ(csv.find(",-"), std::string::npos) << "no negative length";
  }
}

TEST(Export, CsvHasOneRowForEachThing) {
  const TempDir dir;
  const std::string csv = exported(dir, loaded(dir, kLines), export_csv);
  EXPECT_THAT(
      csv, HasSubstr(
               "kind,job,attempt,rank,lane,name,step,data,begin_ns,end_ns,duration_ns,detail\r\n"));
  EXPECT_THAT(csv, HasSubstr("step,j,1,0,0,,1,64,15000000000,16500000000,1500000000,\r\n"));
  EXPECT_THAT(
      csv,
      HasSubstr("span,j,1,0,0,\"my, phase\",,,12000000000,13000000000,1000000000,continued\r\n"));
  EXPECT_THAT(csv, HasSubstr("span,j,1,0,3,compile,,,17000000000,,,open\r\n"));
  EXPECT_THAT(csv, HasSubstr("attr,j,1,0,0,family,,,10000000000,10000000000,0,\"dl\"\"rm\"\r\n"));
  EXPECT_THAT(csv, HasSubstr("exit_code=0 signal=9 origin=infra of_rank=0 reason=gone\r\n"));
}

// Whatever the user has written goes through the rule, once for each text.
TEST(Export, TextsAreShownAsTheRuleSays) {
  const TempDir dir;
  std::string text;
  for (const char* line :
       {R"("type":"attr","key":"lock","value":"hidden-1"})",
        R"("type":"attr","key":"k","value":"hidden-2"})", R"("type":"begin","phase":"hidden-3"})",
        R"("type":"end","phase":"hidden-3"})", R"("type":"restore","step":1,"tier":"hidden-4"})",
        R"("type":"mark","name":"failure","reason":"hidden-5"})",
        R"("type":"mark","name":"failure","reason":"hidden-5"})"}) {
    text += R"({"t":)" + std::to_string(10 + text.size()) + R"(,"job":"j",)" + line + "\n";
  }
  const auto job = loaded(dir, text);
  int calls = 0;
  const TextRule rule = [&](std::string_view key, std::string_view shown) -> std::string {
    ++calls;
    if (key == "lock") return "LOCKED";
    return shown.starts_with("hidden") ? "SHOWN" : std::string(shown);
  };
  for (const auto& writer : {export_jsonl, export_csv, export_perfetto}) {
    calls = 0;
    const std::string out = exported(dir, job, writer, rule);
    EXPECT_EQ(out.find("hidden"), std::string::npos) << out;
    EXPECT_THAT(out, HasSubstr("LOCKED"));
    EXPECT_THAT(out, HasSubstr("SHOWN"));
    EXPECT_EQ(calls, 7) << "two keys, two values, a phase, a tier, a reason";
  }
}

TEST(Export, OpenMetricsAddsUpAndEnds) {
  const TempDir dir;
  const auto job = loaded(dir, kLines);
  const auto result = timeline::attribute_job(job, {});
  metrics::Report report = metrics::make_report(result, job);
  report.job = "a\"b\\c";
  const std::string text = to_openmetrics(report);
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE headway_job_time_seconds counter\n"));
  EXPECT_THAT(text, HasSubstr(R"(headway_job_wall_seconds_total{job="a\"b\\c"} 33)"));
  double sum = 0;
  std::istringstream in(text);
  for (std::string row; std::getline(in, row);) {
    if (row.starts_with("headway_job_time_seconds_total"))
      sum += std::stod(row.substr(row.rfind(' ')));
  }
  EXPECT_DOUBLE_EQ(sum, 33.0);
}

TEST(OutFile, NothingAppearsWithoutACommit) {
  const TempDir dir;
  {
    auto out = OutFile::open(dir.path() + "/x");
    ASSERT_TRUE(out.ok());
    out->buffer() += "half";
    out->flush();
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  EXPECT_FALSE(OutFile::open(dir.path() + "/no/such/folder/x").ok());
}

}  // namespace
}  // namespace headway::interchange
