#include "interchange/sacct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "base/source_path.h"
#include "interchange/sacct_events.h"
#include "interchange/test_util.h"

namespace headway::interchange {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kS = 1'000'000'000;
constexpr const char* kHeader =
    "JobID|JobName|State|Submit|Eligible|Start|End|ExitCode|Restarts|NodeList|Reason\n";

std::string told(std::string_view text, const SacctMapping& mapping) {
  auto table = parse_sacct(text, {.zone = Zone::utc});
  EXPECT_TRUE(table.ok()) << table.status().message();
  if (!table.ok()) return {};
  StreamBuilder builder;
  auto taken = add_sacct(*table, mapping, "sacct.txt", builder);
  EXPECT_TRUE(taken.ok()) << taken.status().message();
  auto jobs = builder.finish("x", {});
  std::string out;
  for (const auto& job : *jobs) out += lines_of(job);
  return out;
}

TEST(Sacct, ReadsTheTimesThatSlurmPrints) {
  EXPECT_EQ(parse_slurm_time("1970-01-02T00:00:01", Zone::utc), 86401 * kS);
  EXPECT_EQ(parse_slurm_time("2026-04-16T09:30:00", Zone::utc), 1776331800 * kS);
  EXPECT_EQ(parse_slurm_time("2026-04-16T09:30:00+02:00", Zone::local), 1776324600 * kS);
  EXPECT_EQ(parse_slurm_time("2026-04-16T09:30:00-0130", Zone::local), 1776337200 * kS);
  EXPECT_EQ(parse_slurm_time("2026-04-16T09:30:00Z", Zone::local), 1776331800 * kS);
  EXPECT_EQ(parse_slurm_time("1776331800", Zone::local), 1776331800 * kS);
  EXPECT_EQ(parse_slurm_time("2024-02-29T00:00:00", Zone::utc), 1709164800 * kS);
  for (const char* bad :
       {"2026-02-29T00:00:00", "2026-13-01T00:00:00", "2026-04-16", "", "x", "2026-04-16T25:00:00",
        "2026-04-16T09:30:00X", "2026-04-16T09:30:00+99:00", "9999-01-01T00:00:00"}) {
    EXPECT_EQ(parse_slurm_time(bad, Zone::utc), std::nullopt) << bad;
  }
}

TEST(Sacct, LocalTimesFollowTZ) {
  const char* saved = std::getenv("TZ");
  const std::string old = saved == nullptr ? "" : saved;
  ::setenv("TZ", "EST5EDT,M3.2.0,M11.1.0", 1);
  ::tzset();
  EXPECT_EQ(parse_slurm_time("2026-01-15T12:00:00", Zone::local),
            *parse_slurm_time("2026-01-15T17:00:00", Zone::utc));
  EXPECT_EQ(parse_slurm_time("2026-07-15T12:00:00", Zone::local),
            *parse_slurm_time("2026-07-15T16:00:00", Zone::utc));
  if (saved == nullptr) {
    ::unsetenv("TZ");
  } else {
    ::setenv("TZ", old.c_str(), 1);
  }
  ::tzset();
}

TEST(Sacct, OneAllocationPerRestart) {
  const std::string text = read_all(base::source_path("tests/data/interchange/sacct_requeue.txt"));
  auto table = parse_sacct(text, {.zone = Zone::utc});
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->rows.size(), 4u);
  EXPECT_EQ(table->step_rows, 5u);
  EXPECT_EQ(told(text, {}),
            read_all(base::source_path("tests/data/interchange/sacct_requeue.jsonl")));
}

TEST(Sacct, JoinsTheLaunchesThatTheJobRecordedItself) {
  const std::string text = std::string(kHeader) +
                           "9|t|PREEMPTED|1000|1000|1100|1200|0:15|0|n1|None\n"
                           "9|t|COMPLETED|1200|1200|1300|1400|0:0|1|n1|None\n";
  SacctMapping mapping;
  mapping.job = "dlrm";
  mapping.known_attempts = {3, 1, 2, 65538, 65537, 200000};
  const std::string out = told(text, mapping);
  EXPECT_THAT(
      out,
      HasSubstr(
          R"("t_ns":1100000000000,"job":"dlrm","attempt":1,"rank":"agent","type":"mark","name":"allocated")"));
  EXPECT_THAT(
      out,
      HasSubstr(
          R"("t_ns":1200000000000,"job":"dlrm","attempt":3,"rank":"agent","type":"mark","name":"failure","signal":15,"origin":"preemption")"));
  EXPECT_THAT(
      out,
      HasSubstr(
          R"("t_ns":1200000000000,"job":"dlrm","attempt":3,"rank":"agent","type":"mark","name":"exit")"));
  EXPECT_THAT(out, HasSubstr(R"("t_ns":1300000000000,"job":"dlrm","attempt":65537,)"));
  EXPECT_THAT(
      out,
      HasSubstr(
          R"("t_ns":1400000000000,"job":"dlrm","attempt":65538,"rank":"agent","type":"mark","name":"job_end")"));
}

TEST(Sacct, WaitingCountsFromWhenTheJobCouldRun) {
  const std::string row = "7|t|RUNNING|1000|5000|6000|Unknown|0:0|0|n1|None\n";
  const std::string out = told(std::string(kHeader) + row, {});
  EXPECT_THAT(
      out,
      HasSubstr(
          R"({"t_ns":5000000000000,"job":"slurm-7","attempt":1,"rank":"agent","type":"mark","name":"submitted"})"));
  EXPECT_THAT(out, testing::Not(HasSubstr("exit")));
  EXPECT_THAT(out, testing::Not(HasSubstr("job_end")));
}

TEST(Sacct, EveryStateHasAnOrigin) {
  const auto origin = [](const char* state, const char* by = "") {
    SacctRow row;
    row.state = state;
    row.cancelled_by = by;
    return origin_of_state(row);
  };
  EXPECT_EQ(origin("COMPLETED"), HW_ORIGIN_NONE);
  EXPECT_EQ(origin("RUNNING"), HW_ORIGIN_NONE);
  EXPECT_EQ(origin("PENDING"), HW_ORIGIN_NONE);
  EXPECT_EQ(origin("PREEMPTED"), HW_ORIGIN_PREEMPTION);
  EXPECT_EQ(origin("NODE_FAIL"), HW_ORIGIN_INFRA);
  EXPECT_EQ(origin("BOOT_FAIL"), HW_ORIGIN_INFRA);
  EXPECT_EQ(origin("FAILED"), HW_ORIGIN_UNKNOWN);
  EXPECT_EQ(origin("REQUEUED"), HW_ORIGIN_UNKNOWN);
  EXPECT_EQ(origin("TIMEOUT"), HW_ORIGIN_USER);
  EXPECT_EQ(origin("OUT_OF_MEMORY"), HW_ORIGIN_USER);
  EXPECT_EQ(origin("CANCELLED", "1000"), HW_ORIGIN_USER);
  EXPECT_EQ(origin("CANCELLED", "0"), HW_ORIGIN_UNKNOWN);
}

TEST(Sacct, SaysWhichLineIsWrong) {
  const auto error = [](const std::string& text) {
    return parse_sacct(text, {.zone = Zone::utc}).status().message();
  };
  EXPECT_THAT(error(""), HasSubstr("header"));
  EXPECT_THAT(error("123|t|COMPLETED\n"), HasSubstr("line 1"));
  EXPECT_THAT(error(std::string(kHeader) + "1|a|b\n"), HasSubstr("line 2: 3 fields"));
  EXPECT_THAT(error(std::string(kHeader) + "x|t|COMPLETED|1|1|1|2|0:0|0|n|\n"), HasSubstr("JobID"));
  EXPECT_THAT(error(std::string(kHeader) + "1|t|COMPLETED|soon|1|1|2|0:0|0|n|\n"),
              HasSubstr("submit \"soon\""));
  EXPECT_THAT(error(std::string(kHeader) + "1|t|COMPLETED|1|1|5|2|0:0|0|n|\n"),
              HasSubstr("End is before Start"));
  auto table = parse_sacct(std::string(kHeader) + "1|a|b\n1|t|COMPLETED|1|1|1|2|0:0|0|n|\n",
                           {.zone = Zone::utc, .skip_bad = true});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->bad_rows, 1u);
  EXPECT_EQ(table->rows.size(), 1u);
}

}  // namespace
}  // namespace headway::interchange
