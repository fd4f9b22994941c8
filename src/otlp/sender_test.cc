#include "otlp/sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "otlp/proto_writer.h"

namespace headway::otlp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

// Answers by a script; 200 when it has come to its end.
class Script final : public net::Transport {
 public:
  net::Exchange send(const net::HttpRequest& request) override {
    urls.push_back(request.url);
    headers = request.headers;
    bodies.emplace_back(reinterpret_cast<const char*>(request.body.data()), request.body.size());
    if (next < answers.size()) return answers[next++];
    net::Exchange ok;
    ok.answer.status = 200;
    return ok;
  }
  void then(int status, net::Headers with = {}, std::string body = {}) {
    net::Exchange exchange;
    exchange.answer = {status, std::move(with), std::move(body)};
    answers.push_back(exchange);
  }
  void then_nobody() {
    net::Exchange exchange;
    exchange.failure = net::Failure::connect;
    exchange.why = "nobody listens there";
    answers.push_back(exchange);
  }
  std::vector<std::string> urls, bodies;
  net::Headers headers;
  std::vector<net::Exchange> answers;
  std::size_t next = 0;
};

Endpoint endpoint() {
  return endpoint_of("http://c:4318/", "api-key=a%20b, X-Other = 1").value();
}

TEST(OtlpSender, SendsBothSignalsToTheirPlaces) {
  Script script;
  Sender sender(script, endpoint(), 1);
  EXPECT_TRUE(sender.round(0).idle);
  EXPECT_TRUE(sender.offer(Signal::traces, "t", 3));
  EXPECT_TRUE(sender.offer(Signal::metrics, "m", 5));
  EXPECT_EQ(sender.round(0).wait_ns, 0);
  EXPECT_EQ(sender.round(0).wait_ns, 0);
  EXPECT_TRUE(sender.round(0).idle);
  EXPECT_THAT(script.urls, ElementsAre("http://c:4318/v1/metrics", "http://c:4318/v1/traces"));
  EXPECT_THAT(script.bodies, ElementsAre("m", "t"));
  const net::Headers wanted = {
      {"api-key", "a b"}, {"x-other", "1"}, {"content-type", "application/x-protobuf"}};
  EXPECT_EQ(script.headers, wanted);
  EXPECT_EQ(sender.counts().of(Signal::traces).sent, 3u);
  EXPECT_EQ(sender.counts().of(Signal::metrics).sent, 5u);
}

TEST(OtlpSender, ComesAgainWhenItIsToldLater) {
  Script script;
  script.then_nobody();
  script.then(503);
  script.then(429, {{"retry-after", "120"}});
  Sender sender(script, endpoint(), 1);
  sender.offer(Signal::traces, "t", 1);
  std::int64_t now_ns = 0;
  Sender::Round round = sender.round(now_ns);
  EXPECT_THAT(round.note, HasSubstr("nobody listens there"));
  EXPECT_GE(round.wait_ns, Sender::shortest_wait_ns);
  EXPECT_EQ(sender.round(now_ns + 1).wait_ns, round.wait_ns - 1) << "not before its time";
  EXPECT_EQ(script.urls.size(), 1u);
  round = sender.round(now_ns += round.wait_ns);
  EXPECT_THAT(round.note, HasSubstr("status 503"));
  round = sender.round(now_ns += round.wait_ns);
  EXPECT_GE(round.wait_ns, 120 * kSecond) << "as long as it was asked for";
  round = sender.round(now_ns += round.wait_ns);
  EXPECT_EQ(sender.waiting(), 0u);
  EXPECT_THAT(script.bodies, ElementsAre("t", "t", "t", "t"));
  EXPECT_EQ(sender.counts().retries, 3u);
  EXPECT_EQ(sender.counts().of(Signal::traces).sent, 1u);
  EXPECT_EQ(sender.counts().of(Signal::traces).dropped, 0u);
}

TEST(OtlpSender, WhatIsRefusedIsDroppedAndTheRestGoesOn) {
  Script script;
  script.then(400);
  Sender sender(script, endpoint(), 1);
  sender.offer(Signal::traces, "a", 2);
  sender.offer(Signal::traces, "b", 4);
  EXPECT_THAT(sender.round(0).note, HasSubstr("will not have our spans (status 400)"));
  sender.round(0);
  EXPECT_EQ(sender.counts().of(Signal::traces).refused, 2u);
  EXPECT_EQ(sender.counts().of(Signal::traces).sent, 4u);
}

TEST(OtlpSender, APartialSuccessIsCounted) {
  ProtoWriter body;
  body.message(1, [](ProtoWriter& inner) {
    inner.number(1, 2);
    inner.text(2, "too old");
  });
  Script script;
  script.then(200, {}, body.take());
  Sender sender(script, endpoint(), 1);
  sender.offer(Signal::traces, "a", 5);
  EXPECT_THAT(sender.round(0).note, HasSubstr("took all but 2 spans: too old"));
  EXPECT_EQ(sender.counts().of(Signal::traces).rejected, 2u);
  EXPECT_EQ(sender.counts().of(Signal::traces).sent, 3u);
  EXPECT_EQ(sender.waiting(), 0u) << "it is not sent again";
}

TEST(OtlpSender, HoldsNoMoreThanItMay) {
  Script script;
  for (std::size_t i = 0; i <= Sender::waiting_max; ++i) script.then(503);
  Sender sender(script, endpoint(), 1);
  for (std::size_t i = 0; i < Sender::waiting_max; ++i) {
    EXPECT_TRUE(sender.offer(Signal::traces, "x", 1));
  }
  EXPECT_FALSE(sender.offer(Signal::traces, "x", 7));
  EXPECT_EQ(sender.counts().of(Signal::traces).dropped, 7u);
  sender.give_up();
  EXPECT_EQ(sender.waiting(), 0u);
  EXPECT_EQ(sender.counts().of(Signal::traces).dropped, 7u + Sender::waiting_max);
  EXPECT_TRUE(sender.offer(Signal::traces, std::string(Sender::waiting_bytes_max, 'x'), 1));
  EXPECT_FALSE(sender.offer(Signal::traces, "x", 1));
}

TEST(OtlpSender, ANewReadingTakesThePlaceOfOneThatWaits) {
  Script script;
  script.then(503);
  Sender sender(script, endpoint(), 1);
  sender.offer(Signal::metrics, "old", 1);
  const auto round = sender.round(0);
  sender.offer(Signal::metrics, "new", 1);
  sender.round(round.wait_ns);
  EXPECT_THAT(script.bodies, ElementsAre("old", "new"));
  EXPECT_EQ(sender.waiting(), 0u);
}

TEST(OtlpSender, AnAddressIsChecked) {
  EXPECT_THAT(endpoint_of("collector:4318", "").status().message(), HasSubstr("http://127.0.0.1"));
  const auto bad = endpoint_of("http://c", "api-key");
  EXPECT_THAT(bad.status().message(), HasSubstr("NAME=VALUE"));
  EXPECT_EQ(endpoint_of("http://c", "a=x%0d%0ab").status().code(), base::Code::invalid_input);
  EXPECT_TRUE(endpoint_of("https://c", " , ").value().headers.empty());
}

}  // namespace
}  // namespace headway::otlp
