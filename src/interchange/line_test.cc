#include "interchange/line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "interchange/line_writer.h"

namespace headway::interchange {
namespace {

using event::EventType;
using testing::HasSubstr;

std::string error_of(std::string_view text) {
  LineParser parser;
  Line line;
  return parser.parse_copy(text, line).message();
}

TEST(Line, ReadsEveryType) {
  LineParser p;
  Line l;
  ASSERT_TRUE(
      p.parse_copy(R"({"t":12.5,"job":"j","attempt":1,"rank":0,"type":"mark","name":"allocated"})",
                   l)
          .ok());
  EXPECT_EQ(l.t_ns, 12'500'000'000);
  EXPECT_EQ(l.job, "j");
  EXPECT_EQ(l.attempt, 1);
  EXPECT_EQ(l.type, EventType::mark);
  EXPECT_EQ(l.code, HW_MARK_ALLOCATED);

  ASSERT_TRUE(
      p.parse_copy(R"({"t_ns":5,"type":"end","phase":"compile","warm":true,"lane":3})", l).ok());
  EXPECT_EQ(l.t_ns, 5);
  EXPECT_EQ(l.type, EventType::end);
  EXPECT_EQ(l.name, "compile");
  EXPECT_EQ(l.a, 1);
  EXPECT_EQ(l.lane, 3);
  EXPECT_EQ(l.attempt, kNoAttempt);

  ASSERT_TRUE(p.parse_copy(R"( { "type" : "step" , "step":7,"data":7168, "t":1e2 } )", l).ok());
  EXPECT_EQ(l.a, 7);
  EXPECT_EQ(l.b, 7168);
  ASSERT_TRUE(p.parse_copy(R"({"type":"step_end","step":7,"t":1,"data":null})", l).ok());
  EXPECT_EQ(l.b, HW_NO_DATA);

  ASSERT_TRUE(p.parse_copy(R"({"type":"checkpoint","step":7,"state":"durable","t":1})", l).ok());
  EXPECT_EQ(l.code, HW_CHECKPOINT_DURABLE);
  ASSERT_TRUE(
      p.parse_copy(R"({"type":"restore","step":5,"data":5120,"tier":"replica","t":1})", l).ok());
  EXPECT_EQ(l.name, "replica");
  ASSERT_TRUE(p.parse_copy(R"({"type":"attr","key":"family","value":"dlrm"})", l).ok());
  EXPECT_FALSE(l.has_time);
  EXPECT_EQ(l.value, "dlrm");
  ASSERT_TRUE(p.parse_copy(R"({"type":"attr","key":"devices","value":16})", l).ok());
  EXPECT_EQ(l.value, "16");
  ASSERT_TRUE(
      p.parse_copy(R"({"type":"hang","rank":"agent","since":1.5,"of_rank":4,"t":9})", l).ok());
  EXPECT_EQ(l.rank, event::kAgentRank);
  EXPECT_EQ(l.a, 1'500'000'000);
  EXPECT_EQ(l.b, 4);
  ASSERT_TRUE(p.parse_copy(R"({"type":"device_done","step":3,"t":9})", l).ok());
  EXPECT_EQ(l.a, 3);
  ASSERT_TRUE(
      p.parse_copy(
           R"({"t":1,"type":"mark","name":"failure","origin":"infra","reason":"ECC \u00e9","exit_code":-9,"signal":9})",
           l)
          .ok());
  EXPECT_EQ(l.end.origin, HW_ORIGIN_INFRA);
  EXPECT_EQ(l.end.exit_code, -9);
  EXPECT_EQ(l.end.signal, 9);
  EXPECT_EQ(l.name, "ECC \xC3\xA9");
}

TEST(Line, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("hello"), testing::Not(""));
  EXPECT_THAT(error_of("[1,2]"), HasSubstr("one JSON object"));
  EXPECT_THAT(error_of("{\"t\":1"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(R"({"t":1,"type":"mark","name":"exit"} {"t":2})"), HasSubstr("behind"));
  EXPECT_THAT(error_of(R"({"t":1,"type":"mark","name":"exit"}x)"), testing::Not(""));
  EXPECT_THAT(error_of(R"({"t":1})"), HasSubstr("\"type\""));
  EXPECT_THAT(error_of(R"({"type":"mark","name":"exit"})"), HasSubstr("time is missing"));
  EXPECT_THAT(error_of(R"({"t":NaN,"type":"mark","name":"exit"})"), HasSubstr("\"t\" must be"));
  EXPECT_THAT(error_of(R"({"t":1e30,"type":"mark","name":"exit"})"), HasSubstr("\"t\" must be"));
  EXPECT_THAT(error_of(R"({"t":"1","type":"mark","name":"exit"})"), HasSubstr("\"t\" must be"));
  EXPECT_THAT(error_of(R"({"t":1,"t_ns":1,"type":"mark","name":"exit"})"), HasSubstr("not both"));
  EXPECT_THAT(error_of(R"({"t_ns":1.5,"type":"mark","name":"exit"})"), HasSubstr("\"t_ns\""));
  EXPECT_THAT(error_of(R"({"t":1,"attempt":-1,"type":"mark","name":"exit"})"),
              HasSubstr("\"attempt\" must be an integer from 0"));
  EXPECT_THAT(error_of(R"({"t":1,"rank":-1,"type":"mark","name":"exit"})"), HasSubstr("\"rank\""));
  EXPECT_THAT(error_of(R"({"t":1,"rank":99999999,"type":"mark","name":"exit"})"),
              HasSubstr("\"rank\""));
  EXPECT_THAT(error_of(R"({"t":1,"lane":65536,"type":"mark","name":"exit"})"),
              HasSubstr("\"lane\""));
  EXPECT_THAT(error_of(R"({"t":1,"type":"mark","name":"bang"})"), HasSubstr("\"name\""));
  EXPECT_THAT(error_of(R"({"t":1,"type":"bang"})"), HasSubstr("\"type\" must be one of"));
  EXPECT_THAT(error_of(R"({"t":1,"type":"begin"})"), HasSubstr("\"phase\""));
  EXPECT_THAT(error_of(R"({"t":1,"type":"step"})"), HasSubstr("\"step\""));
  EXPECT_THAT(error_of(R"({"t":1,"type":"step","step":-4})"), HasSubstr("\"step\""));
  EXPECT_THAT(error_of(R"({"t":1,"type":"step","step":1,"step":2})"), HasSubstr("once"));
  EXPECT_THAT(error_of(R"({"t":1,"type":"checkpoint","step":1,"state":"x"})"), HasSubstr("staged"));
  EXPECT_THAT(error_of(R"({"t":1,"type":"hang"})"), HasSubstr("since"));
  EXPECT_THAT(error_of(R"({"t":1,"type":"attr","key":"k","value":{}})"), HasSubstr("\"value\""));
  EXPECT_THAT(error_of(R"({"t":1,"type":"mark","name":"failure","origin":"moon"})"),
              HasSubstr("\"origin\""));
  EXPECT_THAT(error_of("{\"t\":1,\"type\":\"mark\",\"name\":\"exit\",\"x\":\"\xFF\"}"),
              testing::Not(""));
  EXPECT_THAT(error_of(R"({"t":1,"type":"mark","name":"exit","x":tru})"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(R"({"t":1,"type":"mark","name":"exit","x":[1,]})"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of(R"({"t":1,"type":"mark","name":"exit","x":[nuln]})"), HasSubstr("not JSON"));
}

TEST(Line, BoundsLengthAndNesting) {
  const std::string head = R"({"t":1,"type":"mark","name":"exit","x":)";
  EXPECT_EQ(error_of(head + std::string(20, '[') + std::string(20, ']') + "}"), "");
  EXPECT_NE(error_of(head + std::string(40, '[') + std::string(40, ']') + "}"), "");
  EXPECT_NE(error_of(head + std::string(5000, '[') + std::string(5000, ']') + "}"), "");
  EXPECT_EQ(error_of(head + '"' + std::string(100000, 'a') + "\"}"), "");
  EXPECT_THAT(error_of(head + '"' + std::string(kLineBytesMax, 'a') + "\"}"), HasSubstr("bytes"));

  LineParser p;
  Line l;
  const std::string reason = std::string(479, 'a') + "\xC3\xA9";
  ASSERT_TRUE(
      p.parse_copy(R"({"t":1,"type":"mark","name":"exit","reason":")" + reason + "\"}", l).ok());
  EXPECT_EQ(l.name, std::string(479, 'a')) << "cut between characters";
  EXPECT_THAT(
      error_of(R"({"t":1,"type":"mark","name":"exit","job":")" + std::string(256, 'j') + "\"}"),
      HasSubstr("\"job\""));
}

TEST(Line, CountsUnknownKeysOnce) {
  LineParser p;
  Line l;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        p.parse_copy(
             R"({"t":1,"type":"mark","name":"exit","note":{"a":[1,2.5,"x",null,true]},"zz":0})", l)
            .ok());
  }
  EXPECT_EQ(p.unknown_keys(), (std::vector<std::string>{"note", "zz"}));
}

TEST(Line, WritesEscapesThatReadBack) {
  event::NameTable names;
  event::StreamInfo info;
  info.job = "a\"b\\c\n\x01";
  info.attempt = 65537;
  info.rank = 3;
  const event::Event e{.t_ns = 7,
                       .name = names.intern("tab\there \xF0\x9F\x9A\x80 bad\xFF"),
                       .lane = 2,
                       .type = EventType::begin};
  std::string out;
  ASSERT_TRUE(append_line(out, info, e, names, true));
  LineParser p;
  Line l;
  ASSERT_TRUE(p.parse_copy(out.substr(0, out.size() - 1), l).ok()) << out;
  EXPECT_EQ(l.job, info.job);
  EXPECT_EQ(l.attempt, 65537);
  EXPECT_EQ(l.rank, 3u);
  EXPECT_EQ(l.lane, 2);
  EXPECT_EQ(l.name, "tab\there \xF0\x9F\x9A\x80 bad\xEF\xBF\xBD");
}

}  // namespace
}  // namespace headway::interchange
