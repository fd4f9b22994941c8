#include "collector/live_feed.h"

#include <gtest/gtest.h>

#include <vector>

namespace headway::collector {
namespace {

class Stream final : public net::AnswerStream {
 public:
  bool write(std::string text) override {
    said += text;
    return open;
  }
  void close() override { open = false; }
  bool open = true;
  std::string said;
};

class Listening final : public net::Reply {
 public:
  void send(net::ServerAnswer answer) override { status = answer.status; }
  std::shared_ptr<net::AnswerStream> stream(net::ServerAnswer) override { return heard; }
  int status = 200;
  std::shared_ptr<Stream> heard = std::make_shared<Stream>();
};

TEST(LiveFeed, NoTenantTakesAllPlaces) {
  LiveFeed feed;
  const auto greedy = [&](const std::string& tenant) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < 2 * LiveFeed::readers_max; ++i) {
      const auto reply = std::make_shared<Listening>();
      feed.add(tenant, 1, reply);
      taken += reply->status == 200 ? 1 : 0;
    }
    return taken;
  };
  EXPECT_EQ(greedy("a"), 500u);
  EXPECT_EQ(greedy("b"), 250u);
  EXPECT_EQ(greedy("c"), 125u);
  EXPECT_EQ(feed.readers(), 875u);
}

TEST(LiveFeed, AStreamEndsWithItsToken) {
  LiveFeed feed;
  std::vector<std::shared_ptr<Listening>> replies;
  for (std::int64_t token = 0; token < 4; ++token) {
    replies.push_back(std::make_shared<Listening>());
    feed.add("t", token, replies.back());
  }
  feed.keep_only([](std::int64_t token) { return token == 1 || token == 3; });
  EXPECT_EQ(feed.readers(), 2u);
  feed.publish("t", "job", "{}");
  for (std::size_t token = 0; token < 4; ++token) {
    const Stream& stream = *replies[token]->heard;
    EXPECT_EQ(stream.open, token % 2 == 1) << token;
    EXPECT_EQ(stream.said.find("event: job") != std::string::npos, token % 2 == 1) << token;
  }
}

}  // namespace
}  // namespace headway::collector
