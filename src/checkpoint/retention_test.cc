#include "checkpoint/retention.h"

#include <gtest/gtest.h>

#include <random>

namespace headway::checkpoint {
namespace {

using State = Candidate::State;
constexpr std::int64_t kHour = 3'600'000'000'000;

std::vector<Candidate> hourly(std::size_t count) {
  std::vector<Candidate> out;
  for (std::size_t i = count; i-- > 0;)
    out.push_back({.time_ns = static_cast<std::int64_t>(i) * kHour});
  return out;
}

std::string letters(const RetentionPolicy& policy, const std::vector<Candidate>& candidates) {
  std::string out;
  for (const Fate fate : decide_fates(policy, candidates)) {
    out += is_removed(fate) ? fate == Fate::goes ? '-' : 'x' : name_of(fate)[0];
  }
  return out;
}

TEST(Retention, TheLastAndOneEverySoOften) {
  EXPECT_EQ(letters({.last = 3}, hourly(6)), "nll---");
  EXPECT_EQ(letters({.last = 100}, hourly(3)), "nll");
  EXPECT_EQ(letters({.last = 0}, hourly(3)), "n--") << "the newest is never removed";
  EXPECT_EQ(letters({.last = 2, .every_ns = 4 * kHour}, hourly(10)), "nl---e---e")
      << "hours 9 and 8, the first from 4 on, the first from 0 on";
  EXPECT_EQ(letters({.last = 1}, {}), "");
}

TEST(Retention, WhatIsNotGoodCountsForNothing) {
  auto list = hourly(5);
  list[0].state = State::damaged;
  list[2].state = State::unreadable;
  list[3].state = State::lost;
  EXPECT_EQ(letters({.last = 1}, list), "lnll-") << "the manifest may come back";
  EXPECT_EQ(letters({.last = 1, .drop_lost = true}, list), "lnlx-");
  EXPECT_EQ(letters({.last = 1, .drop_damaged = true, .drop_lost = true}, list), "xnlx-");
  list[0].anchor = list[3].anchor = true;
  EXPECT_EQ(letters({.last = 1, .drop_damaged = true, .drop_lost = true}, list), "lnll-");
  list[3].anchor = false;
  for (Candidate& each : list) each.state = State::damaged;
  EXPECT_EQ(letters({.last = 1}, list), "lllll");
  EXPECT_EQ(letters({.last = 1, .drop_damaged = true}, list), "lllll") << "it is all that is left";
  list[3].state = State::lost;
  EXPECT_EQ(letters({.last = 1, .drop_damaged = true, .drop_lost = true}, list), "lllll");
  list[4].state = State::good;
  list[0].anchor = false;
  EXPECT_EQ(letters({.last = 1, .drop_damaged = true, .drop_lost = true}, list), "xxxxn");
}

TEST(Retention, AnchorsAndLinksStay) {
  auto list = hourly(4);
  list[2].anchor = true;
  list[3].is_link = true;
  EXPECT_EQ(letters({.last = 1}, list), "n-al");
  list[3].state = State::lost;
  EXPECT_EQ(letters({.last = 1, .drop_lost = true}, list), "n-al") << "not ours to remove";
}

// w: a whole one, which the others follow as deltas.
std::vector<Candidate> chain(std::string_view kinds) {
  std::vector<Candidate> out = hourly(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    out[i].is_delta = kinds[i] == 'd';
    if (out[i].is_delta) out[i].base = i + 1;
  }
  return out;
}

TEST(Retention, WithDeltasAsManyWholeOnesStay) {
  EXPECT_EQ(letters({.last = 1}, chain("ddwddw")), "nbb---");
  EXPECT_EQ(letters({.last = 2}, chain("ddwddw")), "nlb--w") << "one image is no second chance";
  EXPECT_EQ(letters({.last = 3}, chain("dwdwdwdw")), "nllb-w--");
  EXPECT_EQ(letters({.last = 3}, chain("dddddw")), "nllbbb");
  EXPECT_EQ(letters({.last = 2}, chain("wwww")), "nl--");
}

TEST(Retention, TimesBeforeTheEpochAreTimesToo) {
  std::vector<Candidate> list = {
      {.time_ns = kHour}, {.time_ns = 0}, {.time_ns = -1}, {.time_ns = -kHour}};
  EXPECT_EQ(letters({.last = 1, .every_ns = 2 * kHour}, list), "ne-e");
}

// Pruned after every commit or once at the end: what stays is the same.
TEST(Retention, ItDoesNotMatterWhenOneAsks) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const RetentionPolicy policy{.last = 1 + random() % 4,
                                 .every_ns = static_cast<std::int64_t>(1 + random() % 5) * kHour};
    std::vector<Candidate> all, pruned;
    std::int64_t now = static_cast<std::int64_t>(random() % 1000) * kHour / 7;
    for (int i = 0; i < 30; ++i) {
      now += static_cast<std::int64_t>(random() % 100) * kHour / 40;
      const Candidate next{.time_ns = now, .anchor = random() % 8 == 0};
      all.insert(all.begin(), next);
      pruned.insert(pruned.begin(), next);
      const auto fates = decide_fates(policy, pruned);
      std::vector<Candidate> kept;
      for (std::size_t k = 0; k < pruned.size(); ++k) {
        if (!is_removed(fates[k])) kept.push_back(pruned[k]);
      }
      pruned = kept;
    }
    std::vector<std::int64_t> at_once, step_by_step;
    const auto fates = decide_fates(policy, all);
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!is_removed(fates[k])) at_once.push_back(all[k].time_ns);
    }
    for (const Candidate& each : pruned) step_by_step.push_back(each.time_ns);
    EXPECT_EQ(at_once, step_by_step) << "seed " << seed;
  }
}

}  // namespace
}  // namespace headway::checkpoint
