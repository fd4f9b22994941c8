#include "agent/cache_keeper.h"

#include <gtest/gtest.h>

namespace headway::agent {
namespace {

TEST(CacheKeeper, WhatCameFromTheShelfIsNotCalledNew) {
  EXPECT_EQ(pushed_text(1, 0), "1 new file");
  EXPECT_EQ(pushed_text(3, 1), "2 new files and 1 file of another family or processor");
  EXPECT_EQ(pushed_text(2, 2), "2 files of another family or processor");
}

}  // namespace
}  // namespace headway::agent
