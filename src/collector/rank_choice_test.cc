#include "collector/rank_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headway::collector {
namespace {

using ::testing::ElementsAre;

timeline::AttemptResult attempt_of(std::uint32_t ranks) {
  timeline::AttemptResult out;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    timeline::RankShare share;
    share.rank = rank;
    out.ranks.push_back(share);
  }
  return out;
}

TEST(RankChoice, ReadsWhatIsAskedFor) {
  EXPECT_FALSE(parse_ranks("", 64).ok());
  EXPECT_THAT(parse_ranks("7", 64).value(), ElementsAre(7));
  EXPECT_THAT(parse_ranks("4-6,200,5", 64).value(), ElementsAre(4, 5, 6, 200));
  EXPECT_EQ(parse_ranks("0-63", 64).value().size(), 64u);
  EXPECT_THAT(parse_ranks("999999999", 64).value(), ElementsAre(999999999u));
  EXPECT_FALSE(parse_ranks("4294967295", 64).ok());
  for (const char* wrong : {"x", "1,", ",1", "3-1", "1-", "0-64", "1 2", "-1", "4294967296",
                            "0-4294967295", "0-40,50-90"}) {
    const auto read = parse_ranks(wrong, 64);
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_EQ(read.status().message(),
              std::string("ranks=") + wrong + ": give at most 64 of them, as in 0-31,200");
  }
}

TEST(RankChoice, WhoMattersComesFirstWhereNotAllFit) {
  timeline::JobResult job;
  job.attempts.push_back(attempt_of(300));
  job.attempts.push_back(attempt_of(300));
  job.attempts[0].ranks[250].held_up_ns = 70;
  job.attempts[1].ranks[250].held_up_ns = 50;
  job.attempts[1].ranks[290].held_up_ns = 100;
  timeline::Failure failure;
  failure.t_ns = 5;
  failure.info.rank = 123;
  job.attempts[0].failure = failure;
  const ChosenRanks chosen = choose_ranks(job, {}, 4);
  EXPECT_EQ(chosen.of, 300u);
  EXPECT_THAT(chosen.ranks, ElementsAre(123, 250, 290, 0));
  EXPECT_THAT(choose_ranks(job, {299, 7, 300}, 4).ranks, ElementsAre(299, 7));
}

TEST(RankChoice, AllInTheirOrderWhereTheyFit) {
  timeline::JobResult job;
  job.attempts.push_back(attempt_of(3));
  job.attempts[0].ranks[2].held_up_ns = 1;
  EXPECT_THAT(choose_ranks(job, {}, 64).ranks, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace headway::collector
