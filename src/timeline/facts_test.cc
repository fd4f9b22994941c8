// What counts as a save.
#include "timeline/facts.h"

#include <gtest/gtest.h>

#include "event/vocabulary.h"
#include "headway/headway.h"

namespace headway::timeline {
namespace {

event::Event checkpoint(std::int64_t t_ns, std::int64_t step, std::uint16_t state) {
  event::Event e;
  e.t_ns = t_ns;
  e.type = event::EventType::checkpoint;
  e.name = state;
  e.a = step;
  e.b = step;
  return e;
}

TEST(Facts, AFailedSaveIsNoneAndNoAnomaly) {
  Facts facts;
  facts.take(checkpoint(1, 5, HW_CHECKPOINT_FAILED), 0);
  EXPECT_EQ(facts.saves, 0U);
  EXPECT_FALSE(facts.last_staged || facts.last_durable);
  facts.take(checkpoint(2, 6, HW_CHECKPOINT_STAGED), 0);
  facts.take(checkpoint(3, 6, HW_CHECKPOINT_FAILED), 0);
  facts.take(checkpoint(4, 7, HW_CHECKPOINT_DURABLE), 0);
  EXPECT_EQ(facts.saves, 2U);
  EXPECT_EQ(facts.last_durable->step, 7);
  EXPECT_EQ(facts.anomalies.total(), 0U);
  EXPECT_EQ(facts.failed_saves, (std::set<std::int64_t>{5, 6}));
  facts.take(checkpoint(5, 6, HW_CHECKPOINT_DURABLE), 0);
  EXPECT_EQ(facts.failed_saves, std::set<std::int64_t>{5}) << "it was tried again";
  facts.take(checkpoint(5, 8, HW_CHECKPOINT_FAILED + 1), 0);
  EXPECT_EQ(facts.anomalies.unknown_events, 1U);
}

TEST(Facts, TheStatesHaveTheirWords) {
  EXPECT_EQ(event::checkpoint_state_name(HW_CHECKPOINT_FAILED), "failed");
  EXPECT_EQ(event::checkpoint_state_from_name("failed"), HW_CHECKPOINT_FAILED);
}

}  // namespace
}  // namespace headway::timeline
