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

TEST(Crc32c, LongOnesAgreeToo) {
  constexpr unsigned kSeed = 20261116;
  std::mt19937 random(kSeed);
  std::vector<unsigned char> data(200'000);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  for (int i = 0; i < 200; ++i) {
    const std::size_t from = random() % 100;
    const std::size_t n = random() % (data.size() - from);
    EXPECT_EQ(crc32c(data.data() + from, n, 7), crc32c_portable(data.data() + from, n, 7)) << n;
  }
}

TEST(Crc32c, CopiesAndSumsAtAnyAlignment) {
  constexpr unsigned kSeed = 20261117;
  std::mt19937 random(kSeed);
  std::vector<unsigned char> data(400'000);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  for (int i = 0; i < 300; ++i) {
    const std::size_t from = random() % 200;
    const std::size_t to = 64 + random() % 200;
    const std::size_t n = random() % (i % 2 == 0 ? 3000 : data.size() - from);
    std::vector<unsigned char> copy(to + n + 64, 0xA5);
    EXPECT_EQ(copy_crc32c(copy.data() + to, data.data() + from, n, 5),
              crc32c_portable(data.data() + from, n, 5))
        << n;
    EXPECT_TRUE(std::equal(copy.begin() + to, copy.begin() + to + n, data.begin() + from)) << n;
    for (std::size_t k = 0; k < to; ++k) ASSERT_EQ(copy[k], 0xA5);
    for (std::size_t k = to + n; k < copy.size(); ++k) ASSERT_EQ(copy[k], 0xA5);
  }
}

}  // namespace
}  // namespace headway::base
