#include "interchange/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "interchange/line.h"
#include "interchange/line_writer.h"
#include "interchange/stream_builder.h"

namespace headway::interchange {
namespace {

using event::Event;
using event::EventType;

// One letter-ish word per event, for readable expectations.
std::string told(const std::vector<Event>& events) {
  std::string out;
  for (const Event& e : events) {
    if (!out.empty()) out += ' ';
    switch (e.type) {
      case EventType::begin:
        out += "+" + std::to_string(e.name);
        break;
      case EventType::end:
        out += "-" + std::to_string(e.name);
        break;
      case EventType::step:
        out += "s" + std::to_string(e.a);
        break;
      case EventType::step_end:
        out += "e" + std::to_string(e.a);
        break;
      case EventType::mark:
        out += event::mark_name(e.name);
        break;
      case EventType::checkpoint:
        out += "c" + std::to_string(e.a);
        break;
      default:
        out += "?";
        break;
    }
  }
  return out;
}

Event at(std::int64_t t, EventType type, std::uint16_t name = 0, std::int64_t a = 0) {
  return {
      .t_ns = t, .a = a, .b = type == EventType::step ? HW_NO_DATA : 0, .name = name, .type = type};
}

std::string ordered_every_way(std::vector<Event> events) {
  const event::NameTable names;
  std::string first;
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(events.begin(), events.end(), random);
    std::vector<Event> copy = events;
    put_in_order(copy, names);
    if (i == 0) first = told(copy);
    EXPECT_EQ(told(copy), first);
  }
  return first;
}

TEST(Order, WhatWasOpenEndsBeforeAnythingBegins) {
  EXPECT_EQ(ordered_every_way({at(1, EventType::begin, 10), at(5, EventType::end, 10),
                               at(5, EventType::begin, 10), at(9, EventType::end, 10)}),
            "+10 -10 +10 -10");
  EXPECT_EQ(ordered_every_way({at(1, EventType::step, 0, 6), at(5, EventType::step_end, 0, 6),
                               at(5, EventType::step, 0, 7), at(5, EventType::checkpoint, 1, 6)}),
            "s6 e6 c6 s7");
}

TEST(Order, SpansAndStepsWithoutLengthStayWhole) {
  EXPECT_EQ(ordered_every_way({at(5, EventType::begin, 10), at(5, EventType::end, 10)}), "+10 -10");
  EXPECT_EQ(ordered_every_way({at(1, EventType::step, 0, 6), at(5, EventType::step_end, 0, 6),
                               at(5, EventType::step, 0, 7), at(5, EventType::step_end, 0, 7),
                               at(5, EventType::step, 0, 8), at(5, EventType::step_end, 0, 8),
                               at(5, EventType::step, 0, 9), at(6, EventType::step_end, 0, 9)}),
            "s6 e6 s7 e7 s8 e8 s9 e9");
}

TEST(Order, NestsByTheEnds) {
  // 11 ends later than 10, so it is the outer one; both ends at once close the inner one first.
  EXPECT_EQ(ordered_every_way({at(1, EventType::begin, 10), at(1, EventType::begin, 11),
                               at(4, EventType::end, 10), at(9, EventType::end, 11)}),
            "+11 +10 -10 -11");
  EXPECT_EQ(ordered_every_way({at(1, EventType::begin, 12), at(2, EventType::begin, 11),
                               at(4, EventType::end, 11), at(4, EventType::end, 12)}),
            "+12 +11 -11 -12");
}

TEST(Order, MarksComeInTheOrderOfALife) {
  std::vector<Event> events;
  for (std::uint16_t m = HW_MARK_SUBMITTED; m <= HW_MARK_JOB_END; ++m) {
    events.push_back(at(3, EventType::mark, m));
  }
  events.push_back(at(3, EventType::step, 0, 1));
  events.push_back(at(3, EventType::begin, 10));
  EXPECT_EQ(ordered_every_way(events),
            "submitted resources_available allocated launcher_start trainer_start s1 +10 "
            "preempt_notice failure exit job_end");
}

TEST(Order, DropsWhatIsIdenticalAndPassesDataToTheStepEnd) {
  const event::NameTable names;
  Event begin = at(1, EventType::step, 0, 6);
  begin.b = 600;
  Event end = at(2, EventType::step_end, 0, 6);
  end.b = HW_NO_DATA;
  std::vector<Event> events = {end, begin, end, begin, end};
  EXPECT_EQ(put_in_order(events, names), 3u);
  ASSERT_EQ(told(events), "s6 e6");
  EXPECT_EQ(events[1].b, 600);
}

// One that has its data and one that learns it from the step are the same, once that is known.
TEST(Order, AnEndThatLearnsItsDataMayBeADuplicate) {
  const event::NameTable names;
  std::vector<Event> events;
  for (const std::int64_t data : {std::int64_t{5}, HW_NO_DATA, std::int64_t{3}}) {
    events.push_back({.t_ns = 2, .a = 6, .b = data, .type = EventType::step_end});
  }
  events.push_back({.t_ns = 2, .a = 6, .b = 5, .type = EventType::step});
  EXPECT_EQ(put_in_order(events, names), 1U);
  EXPECT_EQ(told(events), "s6 e6 e6");
  EXPECT_EQ(put_in_order(events, names), 0U) << "in order is in order";
  EXPECT_EQ(told(events), "s6 e6 e6");
}

TEST(Order, AManyfoldInstantIsNotQuadratic) {
  const event::NameTable names;
  std::vector<Event> events;
  for (int i = 0; i < 200000; ++i) events.push_back(at(0, EventType::step, 0, i));
  for (int i = 0; i < 200000; ++i) events.push_back(at(0, EventType::step_end, 0, i));
  put_in_order(events, names);
  EXPECT_EQ(events.size(), 400000u);
  EXPECT_EQ(events[2].a, 1);
  EXPECT_EQ(events[3].type, EventType::step_end);
}

std::string dump(const std::vector<event::JobStreams>& jobs) {
  std::string out;
  for (const auto& job : jobs) {
    for (const auto& stream : job.streams) {
      const auto source = stream.open();
      for (auto batch = source->next(); !batch.empty(); batch = source->next()) {
        for (const Event& e : batch) append_line(out, stream.info, e, *job.names, true);
      }
    }
  }
  return out;
}

std::string build(const std::vector<std::string>& lines, std::uint64_t* dropped = nullptr) {
  LineParser parser;
  StreamBuilder builder;
  for (const std::string& text : lines) {
    Line line;
    EXPECT_TRUE(parser.parse_copy(text, line).ok()) << text;
    EXPECT_TRUE(builder.add(line, "x.jsonl").ok());
  }
  auto jobs = builder.finish("fallback", {});
  EXPECT_TRUE(jobs.ok()) << jobs.status().message();
  if (dropped != nullptr) *dropped = jobs->front().duplicates_dropped;
  return dump(*jobs);
}

TEST(StreamBuilder, AnyOrderAndAnyDuplicatesGiveTheSameStreams) {
  constexpr unsigned kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  std::vector<std::string> lines = {R"({"type":"attr","key":"family","value":"dlrm"})",
                                    R"({"type":"attr","key":"team","value":"ads"})"};
  const char* phases[] = {"compile", "my phase", "other phase", "eval", "third"};
  for (int i = 0; i < 400; ++i) {
    const std::string head = R"({"t":)" + std::to_string(random() % 20) +
                             R"(,"job":"j","attempt":)" + std::to_string(1 + random() % 2) +
                             R"(,"rank":)" + std::to_string(random() % 2) + ",";
    switch (random() % 4) {
      case 0:
        lines.push_back(head + R"("type":")" + (random() % 2 ? "begin" : "end") + R"(","phase":")" +
                        phases[random() % 5] + "\"}");
        break;
      case 1:
        lines.push_back(head + R"("type":"step","step":)" + std::to_string(random() % 9) + "}");
        break;
      case 2:
        lines.push_back(head + R"("type":"step_end","step":)" + std::to_string(random() % 9) + "}");
        break;
      default:
        lines.push_back(head + R"("type":"mark","name":"failure","reason":"r)" +
                        std::to_string(random() % 3) + "\"}");
    }
  }
  const std::string first = build(lines);
  EXPECT_EQ(build(lines), first);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(lines.begin(), lines.end(), random);
    std::vector<std::string> twice = lines;
    twice.insert(twice.end(), lines.begin(), lines.begin() + 100);
    std::uint64_t dropped = 0;
    ASSERT_EQ(build(twice, &dropped), first);
    EXPECT_GE(dropped, 100u);
  }
}

TEST(StreamBuilder, NamesOfTheUserTieByTheirText) {
  std::vector<std::string> lines;
  for (const char* phase : {"zeta", "beta", "alpha", "eta"}) {
    for (const char* type : {"begin", "end"}) {
      lines.push_back(std::string(R"({"t":5,"type":")") + type + R"(","phase":")" + phase + "\"}");
    }
  }
  const std::string first = build(lines);
  std::reverse(lines.begin(), lines.end());
  EXPECT_EQ(build(lines), first);
}

TEST(StreamBuilder, FactsDoNotDependOnTheOrderEither) {
  std::vector<std::string> lines = {
      R"({"t":1,"host":"node2","world_size":4,"type":"mark","name":"trainer_start"})",
      R"({"t":2,"host":"node1","world_size":8,"type":"mark","name":"exit"})"};
  const std::string first = build(lines);
  EXPECT_NE(first.find(R"("world_size":8,"host":"node1")"), std::string::npos) << first;
  std::reverse(lines.begin(), lines.end());
  EXPECT_EQ(build(lines), first);
}

TEST(StreamBuilder, LinesWithoutAJobBelongToTheOnlyOne) {
  EXPECT_NE(build({R"({"t":1,"job":"j","type":"begin","phase":"p"})",
                   R"({"t":2,"type":"end","phase":"p"})"})
                .find(R"({"t_ns":2000000000,"job":"j","attempt":1,"type":"end","phase":"p"})"),
            std::string::npos);
  EXPECT_NE(build({R"({"t":2,"type":"end","phase":"p"})"}).find("fallback"), std::string::npos);

  LineParser parser;
  StreamBuilder builder;
  Line line;
  for (const char* text : {R"({"t":1,"job":"a","type":"mark","name":"exit"})",
                           R"({"t":1,"job":"b","type":"mark","name":"exit"})",
                           R"({"t":1,"type":"mark","name":"exit"})"}) {
    ASSERT_TRUE(parser.parse_copy(text, line).ok());
    ASSERT_TRUE(builder.add(line, "x").ok());
  }
  EXPECT_FALSE(builder.finish("fallback", {}).ok());
}

}  // namespace
}  // namespace headway::interchange
