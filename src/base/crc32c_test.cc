#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace headway::base {
namespace {

TEST(Crc32c, PublishedVectors) {
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283u);
  EXPECT_EQ(crc32c_portable("123456789", 9), 0xE3069283u);
  const std::vector<unsigned char> zeros(32, 0);
  const std::vector<unsigned char> ones(32, 0xFF);
  EXPECT_EQ(crc32c(zeros.data(), 32), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(ones.data(), 32), 0x62A8AB43u);
  EXPECT_EQ(crc32c("", 0), 0u);
}

TEST(Crc32c, InstructionAndTableAgreeOnAnyLengthAndSplit) {
  constexpr unsigned kSeed = 20240611;
  std::mt19937 random(kSeed);
  std::vector<unsigned char> data(300);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  for (std::size_t n = 0; n <= data.size(); ++n) {
    const std::uint32_t whole = crc32c(data.data(), n);
    EXPECT_EQ(whole, crc32c_portable(data.data(), n)) << n;
    const std::size_t cut = n == 0 ? 0 : random() % n;
    EXPECT_EQ(whole, crc32c(data.data() + cut, n - cut, crc32c(data.data(), cut))) << n;
  }
}

}  // namespace
}  // namespace headway::base
