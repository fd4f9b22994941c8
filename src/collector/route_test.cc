#include "collector/route.h"

#include <gtest/gtest.h>

namespace headway::collector {
namespace {

TEST(Route, KnowsItsPlaces) {
  EXPECT_EQ(route_of("/").place, Place::page);
  EXPECT_TRUE(route_of("/assets/index.js").open);
  EXPECT_EQ(route_of("/metrics").place, Place::metrics);
  EXPECT_FALSE(route_of("/metrics").open);
  EXPECT_EQ(route_of("/api/v1/jobs").place, Place::jobs);
  const Route report = route_of("/api/v1/jobs/nightly/report");
  EXPECT_EQ(report.place, Place::report);
  EXPECT_EQ(report.job, "nightly");
  const Route ingest = route_of("/api/v1/ingest/nightly/65537");
  EXPECT_EQ(ingest.place, Place::ingest);
  EXPECT_EQ(ingest.role, store::Role::ingest);
  EXPECT_EQ(ingest.attempt, 65537u);
  const Route acknowledge = route_of("/api/v1/regressions/12/acknowledge");
  EXPECT_EQ(acknowledge.role, store::Role::admin);
  EXPECT_EQ(acknowledge.id, 12);
  EXPECT_EQ(route_of("/api/v1/fleet/waterfall").place, Place::waterfall);
}

TEST(Route, WhatIsNoPlaceIsNone) {
  for (const char* path :
       {"/api", "/api/", "/api/v1", "/api/v2/jobs", "/api/v1/jobs/", "/api/v1//jobs",
        "/api/v1/jobs/../report", "/api/v1/jobs/a/b/report", "/api/v1/jobs/nightly/secrets",
        "/api/v1/ingest/nightly/-1", "/api/v1/ingest/nightly/1x", "/api/v1/ingest/nightly",
        "/api/v1/regressions/0/acknowledge", "/api/v1/regressions/x/acknowledge", "/api/v1/fleet",
        "/api/v1/fleet/x", "/api/v1/jobs/nightly/report/x", "//", "/a/b/c/d/e/f/g/h/i"}) {
    EXPECT_EQ(route_of(path).place, Place::none) << path;
  }
}

}  // namespace
}  // namespace headway::collector
