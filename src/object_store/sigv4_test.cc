// The signatures that Amazon publishes: the S3 guide's examples and the general test suite.
#include "object_store/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file_system.h"
#include "object_store/hash.h"

namespace headway::object_store {
namespace {

constexpr std::string_view kEmpty =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// 2013-05-24, examplebucket.
std::string s3(std::string_view method, std::string_view path, const Query& query,
               net::Headers headers, std::string_view hash = kEmpty) {
  const Credentials credentials{"AKIAIOSFODNN7EXAMPLE",
                                Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), Secret()};
  headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  headers.emplace_back("x-amz-content-sha256", hash);
  headers.emplace_back("x-amz-date", "20130524T000000Z");
  return authorization(credentials, {.region = "us-east-1", .now_s = 1'369'353'600}, method, path,
                       query, headers, hash);
}

// 2015-08-30 12:36, of the test suite.
std::string suite(std::string_view method, std::string_view path, const Query& query = {},
                  net::Headers headers = {}) {
  const Credentials credentials{"AKIDEXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                                Secret()};
  headers.emplace_back("host", "example.amazonaws.com");
  headers.emplace_back("x-amz-date", "20150830T123600Z");
  const std::string text = authorization(
      credentials, {.region = "us-east-1", .service = "service", .now_s = 1'440'938'160}, method,
      path, query, headers, kEmpty);
  return text.substr(text.find("SignedHeaders="));
}

TEST(SigV4, GetObject) {
  EXPECT_EQ(s3("GET", "/test.txt", {}, {{"range", "bytes=0-9"}}),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, PutObject) {
  const std::string hash = hex(sha256(base::bytes_of("Welcome to Amazon S3.")));
  EXPECT_EQ(hash, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_THAT(
      s3("PUT", "/test$file.text", {},
         {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
         hash),
      testing::EndsWith(
          "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, "
          "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(SigV4, QueryWithAndWithoutValues) {
  EXPECT_THAT(
      s3("GET", "/", {{"lifecycle", ""}}, {}),
      testing::EndsWith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
  EXPECT_THAT(
      s3("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}),
      testing::EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(SigV4, TheTestSuite) {
  const std::string plain = "SignedHeaders=host;x-amz-date, Signature=";
  EXPECT_EQ(suite("GET", "/"),
            plain + "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(suite("POST", "/"),
            plain + "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(suite("GET", "/", {{"Param2", "value2"}, {"Param1", "value1"}}),
            plain + "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(suite("GET", "/", {{"Param1", "value1"}}),
            plain + "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
  const std::string unreserved =
      "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  EXPECT_EQ(suite("GET", "/" + unreserved),
            plain + "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
  EXPECT_EQ(suite("GET", "/", {{unreserved, unreserved}}),
            plain + "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197");
  EXPECT_EQ(suite("GET", "/\u1234"),
            plain + "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  EXPECT_EQ(suite("GET", "/", {{"\u1234", "bar"}}),
            plain + "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04");
}

TEST(SigV4, Headers) {
  EXPECT_EQ(suite("GET", "/", {}, {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}}),
            "SignedHeaders=host;my-header1;my-header2;x-amz-date, Signature="
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
  EXPECT_EQ(suite("GET", "/", {},
                  {{"my-header1", "value2"}, {"my-header1", "value2"}, {"my-header1", "value1"}}),
            "SignedHeaders=host;my-header1;x-amz-date, Signature="
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea");
}

TEST(SigV4, SessionToken) {
  // As if it were any other header.
  const std::string token =
      "AQoDYXdzEPT//////////"
      "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIe"
      "oIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/"
      "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0w"
      "q5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
      "scqKmlzm8FDrypN"
      "C9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
  EXPECT_EQ(suite("POST", "/", {}, {{"x-amz-security-token", token}}),
            "SignedHeaders=host;x-amz-date;x-amz-security-token, Signature="
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
}

TEST(SigV4, Dates) {
  EXPECT_EQ(amz_date(0), "19700101T000000Z");
  EXPECT_EQ(amz_date(1'440'938'160), "20150830T123600Z");
}

TEST(SigV4, OnceEncodedAndNeverTwice) {
  // What is signed is what is sent; paths are not tidied up.
  const std::string request =
      canonical_request("GET", "/b/a/../c//%41", {{"p/x", "a b"}}, {{"host", "h"}}, kEmpty);
  EXPECT_TRUE(request.starts_with("GET\n/b/a/../c//%2541\np%2Fx=a%20b\nhost:h\n\nhost\n"));
  EXPECT_EQ(target_of("/b/a/../c//%41", {{"p/x", "a b"}}), "/b/a/../c//%2541?p%2Fx=a%20b");
  EXPECT_EQ(target_of("/", {{"b", "1"}, {"a", ""}, {"b", "0"}}), "/?a=&b=0&b=1");
}

}  // namespace
}  // namespace headway::object_store
