// What the collector's tables could not hold is known.
#include "collector/fleet_tables.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "fleet/fact_bytes.h"
#include "fleet/test_facts.h"
#include "store/sqlite_store.h"
#include "store/test_util.h"

namespace headway::collector {
namespace {

TEST(FleetTables, WhatCannotBeIsCounted) {
  base::TempDir dir;
  auto store = store::open_sqlite({dir.path() + "/store.db"});
  ASSERT_TRUE(store.ok());
  store::Sender sender(0);
  auto sent = store::append_one(**store, sender.batch(0, 1));
  ASSERT_TRUE(sent.ok());
  fleet::AttemptFacts good = fleet::facts_by_hand(1, "llm", 8, fleet::kHourNs, 0, 0);
  fleet::AttemptFacts odd = good;
  odd.attempt = 2;
  odd.slices[0].sums[timeline::Bucket::down] = -1;
  const std::vector<store::FactPut> puts = {{sent->job, 1, 1, fleet::to_bytes(good)},
                                            {sent->job, 2, 1, fleet::to_bytes(odd)},
                                            {sent->job, 3, 1, {}}};
  ASSERT_TRUE((*store)->put_facts(puts).ok());
  FleetTables tables(**store);
  ASSERT_TRUE(tables.refresh().ok());
  EXPECT_EQ(tables.snapshot("t")->attempts(), 2u);
  EXPECT_EQ(tables.unreadable(), 1u);
  EXPECT_EQ(tables.troubles(), fleet::TableTroubles{.numbers_clamped = 1});
}

}  // namespace
}  // namespace headway::collector
