#include "cache/gpu.h"

#include <gtest/gtest.h>

namespace headway::cache {
namespace {

TEST(Gpu, OfNvidia) {
  EXPECT_EQ(gpu_of_nvidia("9.0\n"), "sm_90");
  EXPECT_EQ(gpu_of_nvidia("9.0\n8.0\r\n 9.0 \n"), "sm_80,sm_90");
  EXPECT_EQ(gpu_of_nvidia("12.1"), "sm_121");
  for (const char* none : {"", "\n\n", "No devices were found\n", "[N/A]\n", "9\n", ".\n", "9.\n",
                           "-9.0\n", "9.0000\n", "couldn't communicate: driver 9.x\n"}) {
    EXPECT_EQ(gpu_of_nvidia(none), "") << none;
  }
}

TEST(Gpu, OfKfd) {
  EXPECT_EQ(gpu_of_kfd("simd_count 440\ngfx_target_version 90010\nvendor_id 4098\n"), "gfx90a");
  EXPECT_EQ(gpu_of_kfd("gfx_target_version 90402\n"), "gfx942");
  EXPECT_EQ(gpu_of_kfd("gfx_target_version 110000\n"), "gfx1100");
  for (const char* none :
       {"", "gfx_target_version 0\n", "gfx_target_version x\n", "simd_count 4"}) {
    EXPECT_EQ(gpu_of_kfd(none), "") << none;
  }
}

TEST(Gpu, WhichTorchHasUseForIt) {
  EXPECT_FALSE(is_for_gpus("2.13.0+cpu"));
  EXPECT_TRUE(is_for_gpus("2.13.0+cu128"));
  EXPECT_TRUE(is_for_gpus("2.13.0"));
}

}  // namespace
}  // namespace headway::cache
