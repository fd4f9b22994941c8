#include "interchange/ml_goodput.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/source_path.h"
#include "interchange/test_util.h"

namespace headway::interchange {
namespace {

using testing::HasSubstr;

std::string told(std::string_view text, std::string_view job = {}) {
  auto log = parse_goodput(text, false);
  EXPECT_TRUE(log.ok()) << log.status().message();
  if (!log.ok()) return {};
  StreamBuilder builder;
  const auto status = add_goodput(*log, job, "log", builder);
  EXPECT_TRUE(status.ok()) << status.message();
  auto jobs = builder.finish("x", {});
  std::string out;
  for (const auto& j : *jobs) out += lines_of(j);
  return out;
}

TEST(MlGoodput, TellsARestartAsAnAttempt) {
  const std::string folder = base::source_path("tests/data/interchange/");
  EXPECT_EQ(told(read_all(folder + "ml_goodput.jsonl")),
            read_all(folder + "ml_goodput_events.jsonl"));
}

TEST(MlGoodput, AnArrayAnyOrderAndDuplicatesSayTheSame) {
  const std::string lines = R"({"job_name":"j","job_start_time":10.5}
{"job_name":"j","step_count":0,"step_start_time":12}
{"job_name":"j","step_count":1,"step_start_time":13}
{"job_name":"j","job_end_time":14.25}
)";
  const std::string first = told(lines);
  EXPECT_EQ(told(R"([{"job_name":"j","step_count":1,"step_start_time":13},
      {"job_name":"j","job_end_time":14.25},{"job_name":"j","job_start_time":10.5},
      {"job_name":"j","job_start_time":10.5},{"job_name":"j","step_count":0,"step_start_time":12}])"),
            first);
  EXPECT_EQ(told(R"({"jsonPayload":{"job_name":"j","job_start_time":10.5},"insertId":"1"}
{"payload":{"job_name":"j","step_count":0,"step_start_time":12}}
{"job_name":"j","step_count":1,"step_start_time":13}
{"job_name":"j","job_end_time":14.25})"),
            first);
  EXPECT_THAT(first,
              HasSubstr(R"("t_ns":14250000000,"job":"j","attempt":1,"type":"step_end","step":1)"));
  EXPECT_THAT(told(lines, "renamed"), HasSubstr(R"("job":"renamed")"));
}

TEST(MlGoodput, SaysWhichEntryIsWrong) {
  const auto error = [](std::string_view text) {
    return parse_goodput(text, false).status().message();
  };
  EXPECT_THAT(error("{\"job_name\":\"j\",\"job_start_time\":1}\nnope\n"), HasSubstr("line 2"));
  EXPECT_THAT(error(R"({"job_name":"j","job_start_time":"x"})"), HasSubstr("job_start_time"));
  EXPECT_THAT(error(R"({"job_name":"j","step_start_time":1})"), HasSubstr("step_count"));
  EXPECT_THAT(error(R"([{"job_name":"j","job_start_time":1},5])"), HasSubstr("entry 2"));
  EXPECT_THAT(error("[1,"), HasSubstr("not JSON"));
  auto log = parse_goodput("nope\n{\"job_name\":\"j\",\"job_start_time\":1}\n{\"other\":1}", true);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->bad, 1u);
  EXPECT_EQ(log->ignored, 1u);
  EXPECT_EQ(log->entries.size(), 1u);
}

}  // namespace
}  // namespace headway::interchange
