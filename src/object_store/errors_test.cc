#include "object_store/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headway::object_store {
namespace {

using testing::HasSubstr;
using testing::Not;

const Credentials kCredentials{"AKID", Secret("short-secret"), Secret("a-token")};
const Where kWhere{"put", "s3://b/k", "https://h", 3};

std::string line(int status, const std::string& body, const net::Headers& headers = {}) {
  net::HttpAnswer answer{.status = status, .headers = headers, .body = body};
  return error_status(kWhere, status, read_error(answer, kCredentials)).message();
}

TEST(Errors, OneLineWithTheNextStep) {
  EXPECT_EQ(line(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>"),
            "put s3://b/k: 403 SignatureDoesNotMatch after 3 tries: the secret does not belong to "
            "the key: set AWS_SECRET_ACCESS_KEY again");
  EXPECT_THAT(line(403, ""), HasSubstr("403 after 3 tries: these credentials may not do that"));
  EXPECT_THAT(line(503, "<html>busy"), HasSubstr("503 after 3 tries: the store cannot serve this"));
  EXPECT_THAT(line(418, "<Error><Code>Odd</Code><Message>a\nb\x1b[31m</Message></Error>"),
              HasSubstr("418 Odd (\"a b [31m\")"));
}

TEST(Errors, OtherRegions) {
  EXPECT_THAT(line(301, "", {{"x-amz-bucket-region", "eu-west-3"}}),
              HasSubstr("set AWS_REGION=eu-west-3"));
  EXPECT_THAT(line(400,
                   "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-north-1</Region>"
                   "</Error>"),
              HasSubstr("set AWS_REGION=eu-north-1"));
  EXPECT_THAT(line(307, "<Error><Code>TemporaryRedirect</Code></Error>"),
              HasSubstr("which is not followed"));
}

TEST(Errors, NothingSecretGetsThrough) {
  const std::string signature(64, 'a');
  const std::string said = line(
      403, "<Error><Code>X</Code><Message>short-secret a-token sig=" + signature +
               " AWS%2F%2Bwhatever%3D%3Dwhatever%2Flong and words that stay</Message></Error>");
  EXPECT_THAT(said, Not(HasSubstr("short-secret")));
  EXPECT_THAT(said, Not(HasSubstr("a-token")));
  EXPECT_THAT(said, Not(HasSubstr("aaaaaaaaaa")));
  EXPECT_THAT(said, Not(HasSubstr("whatever")));
  EXPECT_THAT(said, HasSubstr("and words that stay"));
  EXPECT_LE(cleaned(std::string(100'000, ' ') + "x", kCredentials).size(), 200U);
}

TEST(Errors, WhatIsTriedAgain) {
  for (const int status : {500, 502, 503, 504, 429, 408}) EXPECT_TRUE(is_transient(status, ""));
  for (const int status : {200, 400, 401, 403, 404, 409, 412, 501, 507}) {
    EXPECT_FALSE(is_transient(status, "Other")) << status;
  }
  EXPECT_TRUE(is_transient(200, "SlowDown"));
  EXPECT_TRUE(is_transient(400, "RequestTimeout"));
  EXPECT_TRUE(is_transient(net::Failure::cut));
  EXPECT_FALSE(is_transient(net::Failure::tls));
  EXPECT_FALSE(is_transient(net::Failure::too_long));
}

TEST(Errors, ACallerCanTellWhatIsNotThere) {
  const auto code = [](int status, const char* name) {
    return error_status(kWhere, status, {.code = name}).code();
  };
  EXPECT_EQ(code(404, ""), base::Code::not_found);
  EXPECT_EQ(code(404, "NoSuchKey"), base::Code::not_found);
  EXPECT_EQ(code(404, "NoSuchBucket"), base::Code::invalid_input);
  EXPECT_EQ(code(503, "SlowDown"), base::Code::io_error);
}

}  // namespace
}  // namespace headway::object_store
