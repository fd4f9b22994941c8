// What a webhook tells, to whom, how often, and what it does when it is not taken.
#include "collector/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/clock.h"

namespace headway::collector {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// A receiver that answers by message, and the place where messages are kept.
struct World {
  std::mutex mutex;
  std::map<std::string, std::vector<int>> answers;  // by id; the last for ever; 200 where none is
  std::vector<std::string> got;                     // "URL ID"
  std::vector<WebhookMessage> waiting;
  std::vector<std::string> noted;  // "ID OUTCOME"
  int bad_notes = 0;               // so many cannot be written
  std::vector<std::string> log;

  void keep(const std::string& id, const std::string& tenant = "t", std::int64_t age_ns = 0) {
    waiting.push_back({id, tenant, "{}", base::real_ns() - age_ns, 1, 1});
  }
};

class Receiver final : public net::Transport {
 public:
  explicit Receiver(World& world) : world_(world) {}
  net::Exchange send(const net::HttpRequest& request) override {
    const std::lock_guard lock(world_.mutex);
    std::string id;
    for (const auto& [name, value] : request.headers) {
      if (name == "x-headway-delivery") id = value;
    }
    world_.got.push_back(request.url + " " + id);
    net::Exchange out;
    out.answer.status = 200;
    auto& answers = world_.answers[id];
    if (!answers.empty()) out.answer.status = answers.front();
    if (answers.size() > 1) answers.erase(answers.begin());
    return out;
  }

 private:
  World& world_;
};

std::unique_ptr<Webhook> start(World& world, WebhookOptions options = {}) {
  if (options.url.empty() && options.urls.empty()) options.url = "http://all";
  options.shortest_wait_ns = 1'000'000;
  WebhookSource source;
  source.waiting = [&world]() -> base::Result<std::vector<WebhookMessage>> {
    const std::lock_guard lock(world.mutex);
    return world.waiting;
  };
  source.note = [&world](const WebhookMessage& message, Told told) -> base::Status {
    const std::lock_guard lock(world.mutex);
    if (world.bad_notes-- > 0) return base::Status::io("full");
    std::erase_if(world.waiting, [&](const auto& each) { return each.id == message.id; });
    world.noted.push_back(message.id + " " + std::string(told_name(told)));
    return {};
  };
  return std::make_unique<Webhook>(std::move(options), std::make_unique<Receiver>(world), source,
                                   [&world](const std::string& line) {
                                     const std::lock_guard lock(world.mutex);
                                     world.log.push_back(line);
                                   });
}

void wait_for_notes(World& world, std::size_t count) {
  for (int i = 0; i < 30'000; ++i) {
    {
      const std::lock_guard lock(world.mutex);
      if (world.noted.size() >= count) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL() << "it never came to " << count << " messages";
}

TEST(Webhook, OneThatIsRefusedHoldsUpNoOther) {
  World world;
  world.answers = {{"a", {400}}, {"b", {500, 503, 404, 200}}, {"c", {500}}};
  for (const char* id : {"a", "b", "c", "d"}) world.keep(id);
  const auto webhook = start(world);
  wait_for_notes(world, 3);
  const std::lock_guard lock(world.mutex);
  EXPECT_THAT(world.noted, UnorderedElementsAre("a refused", "b taken", "d taken"));
  EXPECT_EQ(std::ranges::count(world.got, "http://all a"), 1);
  EXPECT_EQ(std::ranges::count(world.got, "http://all b"), 4);
  EXPECT_EQ(std::ranges::count(world.got, "http://all d"), 1);
  const WebhookCounts counts = webhook->counts();
  EXPECT_EQ(counts.refused, 1u);
  EXPECT_EQ(counts.sent, 2u);
  EXPECT_GE(counts.retries, 3u);
  EXPECT_EQ(std::ranges::count_if(
                world.log, [](const auto& line) { return line.find("refuses a") != line.npos; }),
            1);
}

TEST(Webhook, TheNextProcessTellsWhatThisOneDidNot) {
  World world;
  world.answers = {{"a", {500}}};
  world.keep("a");
  {
    const auto webhook = start(world);
    for (int i = 0; i < 30'000 && webhook->counts().retries < 2; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  EXPECT_EQ(world.waiting.size(), 1u);
  world.answers.clear();
  const auto webhook = start(world);
  wait_for_notes(world, 1);
  const std::lock_guard lock(world.mutex);
  EXPECT_THAT(world.noted, ElementsAre("a taken"));
  EXPECT_THAT(world.got, Each("http://all a"));
}

TEST(Webhook, WhatWasTakenIsNotToldAgainForWantOfANote) {
  World world;
  world.bad_notes = 3;
  world.keep("a");
  const auto webhook = start(world);
  wait_for_notes(world, 1);
  const std::lock_guard lock(world.mutex);
  EXPECT_THAT(world.got, ElementsAre("http://all a"));
  EXPECT_EQ(webhook->counts().sent, 1u);
}

TEST(Webhook, WhatIsTooOldIsGivenUp) {
  World world;
  world.keep("old", "t", 25ll * 3600 * 1'000'000'000);
  world.keep("new");
  const auto webhook = start(world);
  wait_for_notes(world, 2);
  const std::lock_guard lock(world.mutex);
  EXPECT_THAT(world.noted, UnorderedElementsAre("old given_up", "new taken"));
  EXPECT_THAT(world.got, ElementsAre("http://all new"));
  EXPECT_EQ(webhook->counts().given_up, 1u);
  EXPECT_THAT(world.log, ElementsAre(HasSubstr("found more than 1d ago: a message")));
}

TEST(Webhook, ATenantHasItsOwnAndOthersHaveNone) {
  World world;
  world.keep("b1", "blue");
  world.keep("r1", "red");
  WebhookOptions options;
  options.urls = {{"blue", "http://blue"}};
  const auto webhook = start(world, options);
  wait_for_notes(world, 1);
  {
    const std::lock_guard lock(world.mutex);
    world.keep("b2", "blue");
  }
  webhook->wake();
  wait_for_notes(world, 2);
  const std::lock_guard lock(world.mutex);
  EXPECT_THAT(world.got, ElementsAre("http://blue b1", "http://blue b2"));
}

}  // namespace
}  // namespace headway::collector
