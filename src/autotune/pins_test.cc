#include "autotune/pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace headway::autotune {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<KernelVerdict> verdicts(const std::vector<std::string>& kernels) {
  Pruner pruner;
  for (const std::string& kernel : kernels) {
    Observation one;
    one.kernel = kernel;
    one.hardware = "cuda:80";
    one.shape_class = "2^10/16";
    one.configs = {{"BM=64", 1.0}, {"BM=128", 3.0}};
    pruner.add(one);
  }
  return pruner.finish();
}

TEST(Pins, SameVerdictsSameBytesInAnyOrder) {
  auto one = verdicts({"a", "b", "c"});
  const std::string text = pins_module(one, 0.05);
  std::reverse(one.begin(), one.end());
  EXPECT_EQ(pins_module(one, 0.05), text);
  EXPECT_THAT(text, HasSubstr("FORMAT = 1\nEPSILON = 0.05\nKERNELS = [\n"));
  EXPECT_THAT(text, HasSubstr("\"keep\": [\n                    \"BM=64\",\n                ],"));
  EXPECT_THAT(text, HasSubstr("def install():"));
  EXPECT_LT(text.find("\"kernel\": \"a\""), text.find("\"kernel\": \"b\""));
  EXPECT_EQ(count_pins(one).kernels, 3u);
  EXPECT_EQ(count_pins(one).classes, 3u);
}

TEST(Pins, NothingToPin) {
  EXPECT_THAT(pins_module({}, 0), HasSubstr("KERNELS = [\n]\n"));
}

TEST(Pins, NoTextBreaksOutOfItsLiteral) {
  EXPECT_EQ(python_literal("a\"\\\n\x7f"), R"("a\"\\\x0a\x7f")");
  EXPECT_EQ(python_literal("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(python_literal("a\xff"), "\"a?\"");
  EXPECT_THAT(pins_module(verdicts({"x\"]; import os #"}), 0.05),
              HasSubstr(R"("kernel": "x\"]; import os #")"));
}

}  // namespace
}  // namespace headway::autotune
