#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/file_system.h"

namespace headway::base {
namespace {

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(hex(sha256(bytes_of(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256(bytes_of("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, InPiecesAsAtOnce) {
  Sha256Stream stream;
  stream.add(bytes_of("a"));
  stream.add(bytes_of(""));
  stream.add(bytes_of("bc"));
  EXPECT_EQ(stream.finish(), sha256(bytes_of("abc")));
}

TEST(HashStream, Md5AndAgain) {
  HashStream stream(HashKind::md5);
  std::array<std::uint8_t, 16> digest{};
  for (int i = 0; i < 2; ++i) {  // after finish() it is as new
    stream.add(bytes_of("a"));
    stream.add(bytes_of("bc"));
    stream.finish(digest);
    EXPECT_EQ(hex(digest), "900150983cd24fb0d6963f7d28e17f72");
  }
}

TEST(Hex, OfExactlySoManyBytes) {
  std::array<std::uint8_t, 2> bytes{};
  EXPECT_TRUE(bytes_of_hex("0aFf", bytes));
  EXPECT_EQ(hex(bytes), "0aff");
  for (const char* text : {"", "0aF", "0aFf0", "0aFg", "0a f", "0x0a"}) {
    EXPECT_FALSE(bytes_of_hex(text, bytes)) << text;
  }
}

TEST(Sha256, AsText) {
  const Sha256 digest = sha256(bytes_of("abc"));
  EXPECT_EQ(sha256_of_hex(hex(digest)), digest);
  EXPECT_FALSE(sha256_of_hex(hex(digest) + "0"));
  EXPECT_FALSE(sha256_of_hex("g" + hex(digest).substr(1)));
  EXPECT_FALSE(sha256_of_hex(""));
}

}  // namespace
}  // namespace headway::base
