// What Triton, inductor and the hook write, whole and spoiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "autotune/best_config.h"
#include "autotune/feedback_line.h"
#include "autotune/tame_json.h"
#include "autotune/triton_file.h"

namespace headway::autotune {
namespace {

using testing::HasSubstr;

const std::string kConfig =
    R"({"kwargs": {"BM": 64, "BK": 32}, "num_warps": 4, "num_ctas": 1, "num_stages": 3, )"
    R"("maxnreg": null, "pre_hook": null, "ir_override": null})";
const std::string kText = "BK=32 BM=64 num_ctas=1 num_stages=3 num_warps=4";

std::string tuning(const std::string& timings, const std::string& key = "[1024, \"fp16\"]") {
  return R"({"key": )" + key + R"(, "configs_timings": [)" + timings + "]}";
}

base::Result<TritonTuning> parse(const std::string& json) {
  return parse_triton_tuning("matmul.autotune.json", json);
}

TEST(TameJson, OnlyOutsideOfStrings) {
  EXPECT_EQ(tame_json(R"([NaN, -Infinity, Infinity, "NaN \" Infinity"])"),
            R"([null, null, null, "NaN \" Infinity"])");
  EXPECT_EQ(tame_json("\"\\"), "\"\\");
}

TEST(TritonFile, Whole) {
  const auto one = parse(tuning("[" + kConfig + ", [0.5, 0.4, 0.6]]"));
  ASSERT_TRUE(one.ok()) << one.status().message();
  const Observation& found = one.value().observation;
  EXPECT_EQ(found.kernel, "matmul");
  EXPECT_EQ(found.shape_class, "2^10/16 'fp16'");
  ASSERT_EQ(found.configs.size(), 1u);
  EXPECT_EQ(found.configs[0].text, kText);
  EXPECT_EQ(found.configs[0].time_ms, 0.5);
}

TEST(TritonFile, ConfigurationsThatCouldNotRun) {
  const auto one = parse(tuning("[" + kConfig + ", [Infinity, Infinity, Infinity]]"));
  ASSERT_TRUE(one.ok());
  EXPECT_TRUE(std::isinf(one.value().observation.configs[0].time_ms));
}

TEST(TritonFile, TimesThatAreNone) {
  const std::string good = "[" + kConfig + ", [1, 1, 1]]";
  for (const char* time : {"[-1.0, 1, 1]", "[\"fast\"]", "[true]", "-0.5"}) {
    const auto one = parse(tuning("[" + kConfig + ", " + time + "], " + good));
    ASSERT_TRUE(one.ok()) << time;
    EXPECT_EQ(one.value().left_out, 1u) << time;
    EXPECT_EQ(one.value().observation.configs.size(), 1u) << time;
  }
}

TEST(TritonFile, TwiceTheSameConfiguration) {
  const std::string entry = "[" + kConfig + ", [1, 1, 1]]";
  const auto one = parse(tuning(entry + "," + entry));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one.value().observation.configs.size(), 1u);
  EXPECT_EQ(one.value().left_out, 1u);
}

TEST(TritonFile, TooManyConfigurations) {
  std::string entries;
  for (std::size_t i = 0; i < kConfigsMax + 5; ++i) {
    entries += (i == 0 ? "" : ",") + ("[{\"kwargs\": {\"B\": " + std::to_string(i) + "}}, [1]]");
  }
  const auto one = parse(tuning(entries));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one.value().observation.configs.size(), kConfigsMax);
  EXPECT_EQ(one.value().left_out, 5u);
}

TEST(TritonFile, KeysThatCannotBeClassed) {
  for (const char* key : {"[]", "[[1]]", "{}", "[18446744073709551615]", "null"}) {
    const auto one = parse(tuning("[" + kConfig + ", [1]]", key));
    ASSERT_TRUE(one.ok()) << key;
    EXPECT_EQ(one.value().observation.shape_class, "") << key;
  }
}

TEST(TritonFile, CutAnywhere) {
  const std::string whole = tuning("[" + kConfig + ", [0.5, 0.4, 0.6]]");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto one = parse(whole.substr(0, bytes));
    ASSERT_FALSE(one.ok()) << bytes;
    EXPECT_EQ(one.status().message().find('\n'), std::string::npos);
  }
}

TEST(TritonFile, Foreign) {
  for (const char* json :
       {"[]", "{}", "1", R"({"configs_timings": {}})", R"({"configs_timings": [1]})",
        R"({"configs_timings": []})", R"({"configs_timings": [[{"kwargs": 1}, [1]]]})"}) {
    EXPECT_FALSE(parse(json).ok()) << json;
  }
  EXPECT_FALSE(parse(std::string(kFileBytesMax + 1, ' ')).ok());
  EXPECT_FALSE(parse_triton_tuning("x.json", tuning("[" + kConfig + ", [1]]")).ok());
}

TEST(TritonFile, Target) {
  const TritonTarget nvidia =
      target_of(R"({"target": {"backend": "cuda", "arch": 80}, "triton_version": "3.9.0"})");
  EXPECT_EQ(nvidia.hardware, "cuda:80");
  EXPECT_EQ(nvidia.software, "triton 3.9.0");
  EXPECT_EQ(target_of(R"({"target": {"backend": "hip", "arch": "gfx942"}})").hardware,
            "hip:gfx942");
  for (const char* json : {"", "{}", R"({"target": 1})", R"({"target": {"arch": 80}})"}) {
    EXPECT_EQ(target_of(json).hardware, "") << json;
  }
}

const std::string kLine =
    R"({"v": 1, "t_ns": 5, "kind": "inductor", "kernel": "mm", "key": [64, "torch.float32"], )"
    R"("hardware": "cpu X, 2 threads", "software": "torch 2.13.0", "pruned": false, )"
    R"("tuning_s": 1.5, "configs": [["mm", 0.25], ["cpp_Gemm", null]]})";

TEST(FeedbackLine, Whole) {
  const auto one = parse_feedback(kLine);
  ASSERT_TRUE(one.ok()) << one.status().message();
  const Observation& found = one.value().observation;
  EXPECT_EQ(found.framework, Framework::inductor);
  EXPECT_EQ(found.kernel, "mm");
  EXPECT_EQ(found.shape_class, "2^6/16 'torch.float32'");
  EXPECT_EQ(found.hardware, "cpu X, 2 threads");
  EXPECT_EQ(found.tuning_ns, 1'500'000'000);
  ASSERT_EQ(found.configs.size(), 2u);
  EXPECT_TRUE(std::isinf(found.configs[1].time_ms));
}

TEST(FeedbackLine, CutAnywhere) {
  for (std::size_t bytes = 0; bytes < kLine.size(); ++bytes) {
    EXPECT_FALSE(parse_feedback(std::string_view(kLine).substr(0, bytes)).ok()) << bytes;
  }
}

TEST(FeedbackLine, ForeignOrOfAnotherVersion) {
  EXPECT_THAT(parse_feedback("{}").status().message(), HasSubstr("not a line of autotuning"));
  EXPECT_THAT(parse_feedback(R"({"v": 2})").status().message(), HasSubstr("is of version 2"));
  EXPECT_THAT(parse_feedback(R"({"v": 1, "kind": "x"})").status().message(), HasSubstr("kind"));
  EXPECT_FALSE(parse_feedback(R"({"v": 1, "kind": "triton", "kernel": "k"})").ok());
  EXPECT_FALSE(
      parse_feedback(R"({"v": 1, "kind": "triton", "kernel": "k", "configs": [["a"]]})").ok());
}

TEST(FeedbackLine, CostsThatAreNone) {
  for (const char* cost : {"null", "-1", "NaN", "1e300", "\"1\""}) {
    const std::string line = R"({"v": 1, "kind": "triton", "kernel": "k", "tuning_s": )" +
                             std::string(cost) + R"(, "configs": [["a", 1]]})";
    const auto one = parse_feedback(line);
    ASSERT_TRUE(one.ok()) << cost;
    EXPECT_EQ(one.value().observation.tuning_ns, -1) << cost;
  }
}

TEST(BestConfig, WholeAndForeign) {
  const auto one = parse_best_config(
      R"({"XBLOCK": 128, "num_warps": 4, "num_stages": 1, "configs_hash": "ab", )"
      R"("found_by_coordesc": true, "time_taken_ms": 12, "triton_cache_hash": null})");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one.value().tuning_ns, 12'000'000);
  EXPECT_TRUE(one.value().by_coordinate_descent);
  for (const char* json : {"", "[]", "{}", "{\"configs_hash\": 1}", "{\"configs_hash\": \"a\""}) {
    EXPECT_FALSE(parse_best_config(json).ok()) << json;
  }
}

}  // namespace
}  // namespace headway::autotune
