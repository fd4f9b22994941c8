#include "cli/interval_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/page.h"

namespace headway::cli {
namespace {

using interval::Tier;
using testing::HasSubstr;
using testing::Not;

constexpr double kDay = 86'400;

IntervalQuestion example() {
  IntervalQuestion q;
  q.cost.blocking_s = 15;
  q.failures = interval::one_rate(3 / kDay);
  return q;
}

IntervalQuestion of_job(const std::string& name) {
  IntervalQuestion q = example();
  IntervalJob job;
  job.name = name;
  job.saves = 1;
  job.used_interval_s = 3600;
  for (int i = 0; i < 9; ++i) {
    interval::RecordedAttempt attempt;
    for (int step = 0; step < 2000; ++step) attempt.add_step(10);
    attempt.wall_s = 20'003;
    attempt.failure = Tier::process;
    job.attempts.push_back(attempt);
    job.loop_s += attempt.wall_s;
    job.steps += 2000;
  }
  job.history[Tier::process] = 9;
  q.loop_s = job.loop_s;
  q.rate = interval::RateEstimate();
  q.rate->add(job.history);
  q.job = job;
  return q;
}

Style style(int width, bool unicode) {
  Style out;
  out.width = width;
  out.unicode = unicode;
  return out;
}

TEST(IntervalAnswer, HasTheNumbersOfTheExample) {
  const IntervalAnswer a = answer(example());
  EXPECT_NEAR(a.plan.persist_s, 929.5, 0.05);
  EXPECT_NEAR(a.exact->interval_s, 919.5, 0.05);
  EXPECT_NEAR(a.exact->waste, 0.03193, 5e-6);
  ASSERT_EQ(a.wrong.size(), 3u);
  EXPECT_NEAR(a.wrong[2].cost, 1.739, 0.0005);
  for (std::size_t i = 1; i < a.rows.size(); ++i) {
    EXPECT_LT(a.rows[i - 1].plan.persist_s, a.rows[i].plan.persist_s);
  }
  for (const IntervalRow& row : a.rows) EXPECT_GE(row.waste.total(), a.waste.total() * (1 - 1e-12));
}

TEST(IntervalAnswer, HasARowForWhatTheJobDid) {
  const auto used = [](const IntervalAnswer& a) {
    std::vector<double> out;
    for (const IntervalRow& row : a.rows) {
      if (row.used) out.push_back(row.plan.persist_s);
    }
    return out;
  };
  IntervalQuestion q = of_job("j");
  EXPECT_THAT(used(answer(q)), testing::ElementsAre(3600.0));
  EXPECT_EQ(answer(q).rows.size(), 8u);
  q.job->used_interval_s = answer(q).plan.persist_s * 1.001;
  EXPECT_EQ(answer(q).rows.size(), 7u) << "so near that it is the same row";
  EXPECT_EQ(used(answer(q)).size(), 1u);
}

TEST(IntervalAnswer, RowsThatCannotBeAreMarked) {
  IntervalQuestion q = example();
  q.cost.persist_lag_s = 300;
  const IntervalAnswer a = answer(q);
  EXPECT_FALSE(a.rows.front().possible);
  EXPECT_TRUE(a.rows.back().possible);
  EXPECT_THAT(interval_text(a, style(100, true)), HasSubstr("saves would queue up"));
}

TEST(IntervalText, SaysItAtOnce) {
  const std::string text = interval_text(answer(example()), style(100, true));
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("929.5 s"));
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("3.227%"));
  EXPECT_THAT(text, HasSubstr("1.061, 1.155 or 1.739"));
  EXPECT_THAT(text, HasSubstr("919.5 s, 3.193%"));
}

TEST(IntervalText, FitsItsPage) {
  for (const int width : {60, 72, 100, 400}) {
    for (const IntervalQuestion& q : {example(), of_job(std::string(200, 'n'))}) {
      std::string text = interval_text(answer(q), style(width, false));
      while (!text.empty()) {
        const std::string line = text.substr(0, text.find('\n'));
        EXPECT_LE(columns_of(line), width) << line;
        for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
        text.erase(0, line.size() + 1);
      }
    }
  }
}

TEST(IntervalText, SaysWhatIsAssumed) {
  IntervalQuestion q = of_job("j");
  EXPECT_THAT(interval_text(answer(q), style(400, true)), Not(HasSubstr("assumed")));
  q.cost_assumed = true;
  EXPECT_THAT(interval_text(answer(q), style(400, true)),
              HasSubstr("assumed, because no save was recorded"));
  q.rate = interval::RateEstimate();
  EXPECT_THAT(interval_text(answer(q), style(400, true)),
              HasSubstr("assumed, because none was recorded: one in a day to begin with"));
}

TEST(IntervalJson, HoldsTheSameNumbers) {
  const IntervalAnswer a = answer(of_job("a\xff\"b"));
  const auto json = nlohmann::json::parse(interval_json(a));
  EXPECT_DOUBLE_EQ(json["interval_s"], a.plan.persist_s);
  EXPECT_DOUBLE_EQ(json["waste"]["total"], a.waste.total());
  EXPECT_DOUBLE_EQ(json["replayed"]["waste"], a.replayed->waste());
  EXPECT_EQ(json["table"].size(), a.rows.size());
  EXPECT_DOUBLE_EQ(json["job"]["used_interval_s"], 3600);
  EXPECT_FALSE(json["failures"]["stated"]);
  EXPECT_LT(json["failures"]["range_per_day"][0], json["failures"]["range_per_day"][1]);
  EXPECT_EQ(json["failures"]["tiers"].size(), 3u);
}

TEST(IntervalSvg, CarriesNothingOfANameButItsText) {
  const std::string svg = interval_svg(answer(of_job("</title><script>&\"\x1b[31m")));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&amp;&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr("used: 1h 00m"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

struct Box {
  double left, right, top, bottom;
  std::string words;
  [[nodiscard]] bool meets(const Box& o) const {
    return left < o.right && o.left < right && top < o.bottom && o.top < bottom;
  }
};

// Where the words of a picture stand, with letters of a usual width.
std::vector<Box> words_of(const std::string& svg) {
  static const std::regex kText(
      R"re(<text x="([-\d.]+)" y="([-\d.]+)" class="([^"]*)" text-anchor="(\w+)">([^<]*)</text>)re");
  std::vector<Box> out;
  for (std::sregex_iterator it(svg.begin(), svg.end(), kText), end; it != end; ++it) {
    const std::smatch& m = *it;
    const double x = std::stod(m[1]), y = std::stod(m[2]);
    const double width = static_cast<double>(m[5].length()) * (m[3] == "title" ? 12.5 : 7.6);
    const double left = m[4] == "start" ? x : m[4] == "end" ? x - width : x - width / 2;
    out.push_back({left, left + width, y - 12, y + 4, m[5]});
  }
  return out;
}

// The lines of the best and of the used interval, which begin above the field.
std::vector<Box> uprights_of(const std::string& svg) {
  static const std::regex kLine(
      R"re(<line class="(drop|used)" x1="([-\d.]+)" y1="([-\d.]+)" x2="[-\d.]+" y2="([-\d.]+)")re");
  std::vector<Box> out;
  for (std::sregex_iterator it(svg.begin(), svg.end(), kLine), end; it != end; ++it) {
    const double x = std::stod((*it)[2]);
    out.push_back({x - 1, x + 1, std::stod((*it)[3]), std::stod((*it)[4]), (*it)[1]});
  }
  return out;
}

void expect_room_for_words(const std::string& svg) {
  const std::vector<Box> words = words_of(svg);
  for (const Box& line : uprights_of(svg)) {
    for (const Box& word : words) EXPECT_FALSE(word.meets(line)) << word.words;
  }
  ASSERT_GT(words.size(), 8u);
  const Box field{91, 929, 205, 575, "the field"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_FALSE(words[i].meets(field)) << words[i].words << " stands among the curves";
    EXPECT_GE(words[i].left, 0) << words[i].words;
    EXPECT_LE(words[i].right, 960) << words[i].words;
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_FALSE(words[i].meets(words[k])) << words[i].words << " on " << words[k].words;
    }
  }
}

TEST(IntervalSvg, NoWordLiesOnAnotherOrOnACurve) {
  IntervalQuestion q = of_job("j");
  q.cost.persist_lag_s = 400;
  const double best_s = answer(q).plan.persist_s;
  for (const double factor : {1e-3, 0.1, 0.9, 1.0, 1.02, 1.5, 9.0, 1e3}) {
    q.job->used_interval_s = factor * best_s;
    expect_room_for_words(interval_svg(answer(q)));
  }
}

TEST(IntervalSvg, DrawsExtremes) {
  for (const double blocking_s : {1e-6, 1.0, 1e5}) {
    for (const double per_day : {1e-6, 1.0, 1e6}) {
      IntervalQuestion q = example();
      q.cost.blocking_s = blocking_s;
      q.cost.persist_lag_s = 1000;
      q.failures = interval::one_rate(per_day / kDay);
      const std::string svg = interval_svg(answer(q));
      EXPECT_THAT(svg, Not(HasSubstr("nan")));
      EXPECT_THAT(svg, Not(HasSubstr("inf")));
      EXPECT_LT(svg.size(), 40'000u);
      expect_room_for_words(svg);
      EXPECT_FALSE(interval_text(answer(q), style(80, true)).empty());
    }
  }
}

}  // namespace
}  // namespace headway::cli
