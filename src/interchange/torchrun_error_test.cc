#include "interchange/torchrun_error.h"

#include <gtest/gtest.h>

namespace headway::interchange {
namespace {

TEST(TorchrunError, TakesTheExceptionsOwnLine) {
  auto e = parse_torchrun_error(
      R"({"message":{"message":"RuntimeError: boom","extraInfo":{"py_callstack":"Traceback (most recent call last):\n  File \"t.py\", line 3, in main\n    raise RuntimeError(\"boom\")\nValueError: first\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"t.py\", line 9\nRuntimeError: boom\n","timestamp":"1776331800"}}})");
  ASSERT_TRUE(e.ok()) << e.status().message();
  EXPECT_EQ(e->reason, "RuntimeError: boom");
  EXPECT_EQ(e->t_ns, 1'776'331'800'000'000'000);
  EXPECT_EQ(e->exit_code, 1);
}

TEST(TorchrunError, TakesAPlainMessageAndACode) {
  auto plain = parse_torchrun_error(R"({"message":"SIGSEGV in rank 3\nmore","timestamp":12.5})");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->reason, "SIGSEGV in rank 3");
  EXPECT_EQ(plain->t_ns, 12'500'000'000);
  auto code = parse_torchrun_error(R"({"message":{"message":"CUDA error: x","errorCode":-11}})");
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code->exit_code, -11);
  EXPECT_EQ(code->t_ns, std::nullopt);
  EXPECT_EQ(code->reason, "CUDA error: x");
}

TEST(TorchrunError, ALongLineKeepsItsEnd) {
  const auto reason_of = [](const std::string& said) {
    auto error = parse_torchrun_error(R"({"message": ")" + said + R"("})");
    return error.ok() ? error->reason : error.status().message();
  };
  const std::string line = "E: " + std::string(600, 'x') + ". Save into another folder";
  EXPECT_EQ(reason_of(line), line);
  const std::string cut = reason_of("E: " + std::string(9000, 'x') + ". Save into another folder");
  EXPECT_LE(cut.size(), kErrorReasonBytesMax);
  EXPECT_TRUE(cut.starts_with("E: x") && cut.ends_with(". Save into another folder")) << cut;
}

TEST(TorchrunError, RefusesOtherFiles) {
  for (const char* bad : {"", "{}", "[]", "{\"message\":5}", "{\"message\"", "null"}) {
    EXPECT_FALSE(parse_torchrun_error(bad).ok()) << bad;
  }
}

TEST(TorchrunError, ReadsRankAndRestartFromThePath) {
  const auto place = place_of_error_file("/logs/none_abc/attempt_2/11/error.json");
  EXPECT_EQ(place.restart, 2);
  EXPECT_EQ(place.rank, 11u);
  const auto none = place_of_error_file("error.json");
  EXPECT_EQ(none.restart, std::nullopt);
  EXPECT_EQ(none.rank, std::nullopt);
  EXPECT_EQ(place_of_error_file("attempt_x/1/error.json").rank, std::nullopt);
}

}  // namespace
}  // namespace headway::interchange
