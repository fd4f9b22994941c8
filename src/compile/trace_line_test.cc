#include "compile/trace_line.h"

#include <gtest/gtest.h>

#include <string>

namespace headway::compile {
namespace {

constexpr std::string_view kLine =
    R"(V1117 12:13:13.262000 11797 torch/_dynamo/utils.py:2350] {"chromium_event": {}, "frame_id": 0})";

TEST(TraceLine, APrefix) {
  const auto prefix = parse_prefix(kLine);
  ASSERT_TRUE(prefix.has_value());
  EXPECT_EQ(prefix->month, 11);
  EXPECT_EQ(prefix->day, 17);
  EXPECT_EQ(prefix->day_us, ((12 * 60 + 13) * 60 + 13) * 1'000'000ll + 262'000);
  EXPECT_EQ(prefix->process, 11797u);
  EXPECT_EQ(prefix->source, "torch/_dynamo/utils.py:2350");
  EXPECT_EQ(prefix->json, R"({"chromium_event": {}, "frame_id": 0})");
}

TEST(TraceLine, EveryCutAndEveryChangedByteOfAPrefixIsHarmless) {
  for (std::size_t n = 0; n <= kLine.size(); ++n) (void)parse_prefix(kLine.substr(0, n));
  for (std::size_t n = 0; n < 60; ++n) {
    for (const char byte : {'\0', ' ', '9', ':', ']', '\xff'}) {
      std::string line(kLine);
      line[n] = byte;
      const auto prefix = parse_prefix(line);
      EXPECT_TRUE(!prefix || prefix->json.starts_with('{')) << line;
    }
  }
}

TEST(TraceLine, WhatIsNoPrefix) {
  for (const char* line :
       {"", "hello", "V1117 12:13:13.262000 11797 x.py:1 {}",
        "X1117 12:13:13.262000 1 x.py:1] {}aaaaa", "V1317 12:13:13.262000 11797 torch/x.py:1] {}",
        "V1117 25:13:13.262000 11797 torch/x.py:1] {}",
        "V1117 12:13:13.262000 99999999999999999999999 x.py:1] {}"}) {
    EXPECT_FALSE(parse_prefix(line).has_value()) << line;
  }
}

Envelope parsed(EnvelopeParser& parser, std::string text, bool good = true) {
  const std::size_t bytes = text.size();
  text.resize(bytes + 64);
  static std::string kept;  // views of the envelope are into it
  kept = std::move(text);
  Envelope out;
  EXPECT_EQ(parser.parse(std::string_view(kept).substr(0, bytes), out), good) << kept;
  return out;
}

TEST(TraceLine, AnEnvelope) {
  EnvelopeParser parser;
  const Envelope e =
      parsed(parser, R"({"artifact": {"name": "x", "a": [1, {"b": 2}]}, "rank": 3, "frame_id": 1,)"
                     R"( "frame_compile_id": 2, "attempt": 4, "has_payload": "00ff"})");
  EXPECT_EQ(e.type, "artifact");
  EXPECT_EQ(e.metadata, R"({"name": "x", "a": [1, {"b": 2}]})");
  EXPECT_EQ(e.rank, 3);
  EXPECT_EQ(e.attempt, 4);
  EXPECT_EQ(e.id.text(), "1/2");
  EXPECT_EQ(e.payload_md5, "00ff");
}

TEST(TraceLine, AnEnvelopeWithOddValues) {
  EnvelopeParser parser;
  const Envelope e =
      parsed(parser, R"({"stack": [{"line": 1}], "frame_id": null, "rank": -1, "str": ["a", 5]})");
  EXPECT_EQ(e.type, "str");
  EXPECT_EQ(e.metadata, R"(["a", 5])");
  EXPECT_FALSE(e.id.known());
  EXPECT_EQ(e.id.text(), "-");
  parsed(parser, R"({"rank": 1})", false);
  parsed(parser, R"({"x": {})", false);
  parsed(parser, R"([1])", false);
  parsed(parser, R"({"x": 99999999999999999999999999, "frame_id": 99999999999})");
}

TEST(TraceLine, CompileIds) {
  for (const char* text : {"0/0", "12/3", "!4", "!4/0/1"}) {
    const auto id = parse_compile_id(text);
    ASSERT_TRUE(id.has_value()) << text;
    EXPECT_EQ(id->text(), text);
  }
  EXPECT_EQ(parse_compile_id("0/1_2")->text(), "0/1");
  for (const char* text : {"", "x", "1", "1/", "/1", "!", "!x", "!1x", "-1/0", "1/2x"}) {
    EXPECT_FALSE(parse_compile_id(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace headway::compile
