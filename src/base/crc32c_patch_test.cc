#include "base/crc32c_patch.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/crc32c.h"

namespace headway::base {
namespace {

TEST(Crc32cPatch, ThePartsChecksumsGiveTheWholes) {
  constexpr unsigned kSeed = 20261121;
  std::mt19937 random(kSeed);
  std::vector<unsigned char> text(20'000);
  for (auto& byte : text) byte = static_cast<unsigned char>(random());
  std::uint32_t crc = crc32c(text.data(), text.size());
  for (int round = 0; round < 500; ++round) {
    const std::size_t at = random() % text.size();
    const std::size_t bytes = random() % (text.size() - at + 1);
    const std::uint32_t before = crc32c(text.data() + at, bytes);
    for (std::size_t i = 0; i < bytes; ++i) text[at + i] = static_cast<unsigned char>(random());
    const std::uint32_t change = before ^ crc32c(text.data() + at, bytes);
    crc ^= crc32c_times(change, crc32c_power(text.size() - at - bytes));
    ASSERT_EQ(crc, crc32c(text.data(), text.size())) << round;
  }
}

TEST(Crc32cPatch, PowersMultiply) {
  EXPECT_EQ(crc32c_power(0), 0x80000000U);
  for (const std::uint64_t a : {1ULL, 7ULL, 4096ULL, 1ULL << 40}) {
    for (const std::uint64_t b : {0ULL, 1ULL, 255ULL, 1ULL << 22}) {
      EXPECT_EQ(crc32c_times(crc32c_power(a), crc32c_power(b)), crc32c_power(a + b));
    }
  }
}

}  // namespace
}  // namespace headway::base
