#include "otlp/answer.h"

#include <gtest/gtest.h>

#include "otlp/proto_writer.h"

namespace headway::otlp {
namespace {

std::string partial(std::uint64_t rejected, std::string_view message) {
  ProtoWriter out;
  out.number(7, 3);  // a field of a later version
  out.message(1, [&](ProtoWriter& inner) {
    inner.number(1, rejected);
    inner.text(2, message);
  });
  return out.take();
}

net::Exchange answered(int status, std::string retry_after = {}) {
  net::Exchange out;
  out.answer.status = status;
  if (!retry_after.empty()) out.answer.headers = {{"retry-after", std::move(retry_after)}};
  return out;
}

TEST(OtlpAnswer, PartialSuccessSaysHowMany) {
  EXPECT_EQ(parse_partial_success(partial(300, "too\nold")), (PartialSuccess{300, "too old"}));
  EXPECT_EQ(parse_partial_success(partial(0, "a warning")), (PartialSuccess{0, "a warning"}));
  EXPECT_EQ(parse_partial_success(""), PartialSuccess{});
}

TEST(OtlpAnswer, WhatIsNoAnswerSaysNothing) {
  const std::string whole = partial(300, "too old");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_GE(parse_partial_success(whole.substr(0, size)).rejected, 0);
  }
  EXPECT_EQ(parse_partial_success("{\"partialSuccess\":{}}").rejected, 0);
  EXPECT_EQ(parse_partial_success(partial(UINT64_MAX, "")).rejected, 0) << "below 0 makes no sense";
  EXPECT_LE(parse_partial_success(partial(1, std::string(5000, 'x'))).message.size(),
            partial_message_max);
}

TEST(OtlpAnswer, OnlySomeStatusesMeanLater) {
  EXPECT_EQ(verdict_of(answered(200)), Verdict::taken);
  for (const int status : {429, 502, 503, 504}) {
    EXPECT_EQ(verdict_of(answered(status)), Verdict::later) << status;
  }
  for (const int status : {301, 400, 401, 404, 413, 500, 501}) {
    EXPECT_EQ(verdict_of(answered(status)), Verdict::refused) << status;
  }
  net::Exchange away;
  away.failure = net::Failure::connect;
  EXPECT_EQ(verdict_of(away), Verdict::later);
  away.failure = net::Failure::tls;
  EXPECT_EQ(verdict_of(away), Verdict::refused);
}

TEST(OtlpAnswer, RetryAfterIsSeconds) {
  EXPECT_EQ(retry_after_ns(answered(429, "7").answer), 7'000'000'000);
  EXPECT_EQ(retry_after_ns(answered(429, "999999").answer), 3'600'000'000'000);
  EXPECT_EQ(retry_after_ns(answered(429, "-1").answer), std::nullopt);
  EXPECT_EQ(retry_after_ns(answered(429, "Wed, 21 Oct 2026 07:28:00 GMT").answer), std::nullopt);
  EXPECT_EQ(retry_after_ns(answered(429).answer), std::nullopt);
}

}  // namespace
}  // namespace headway::otlp
