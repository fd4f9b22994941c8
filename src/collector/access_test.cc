#include "collector/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace headway::collector {
namespace {

using store::Role;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

store::Token token(std::int64_t id, const std::string& secret, Role role,
                   const std::string& tenant = "t") {
  return {id, tenant, role, "label " + secret, token_hash(secret), 0};
}

TEST(Access, WithoutTokensThisMachineMayDoAll) {
  Access access({});
  access.use({}, "default");
  const Decision decision = access.decide("", "127.0.0.1", Role::admin, 0);
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.tenant, "default");
  EXPECT_EQ(access.asker("anything")->tenant, "default");
  EXPECT_TRUE(access.is_open());
  EXPECT_TRUE(access.is_good(0));
  access.use({}, std::nullopt);
  EXPECT_FALSE(access.is_open());
  EXPECT_FALSE(access.is_good(0));
  const Decision no = access.decide("", "127.0.0.1", Role::read, 0);
  EXPECT_EQ(no.status, 401);
  EXPECT_THAT(no.why, HasSubstr("headway serve token add"));
}

TEST(Access, ATokenIsForItsRoleAndItsTenant) {
  Access access({});
  access.use({token(1, "a", Role::ingest, "x"), token(2, "b", Role::read, "y"),
              token(3, "c", Role::admin, "z")},
             "default");
  EXPECT_EQ(access.decide("Bearer a", "p", Role::ingest, 0).tenant, "x");
  EXPECT_EQ(access.decide("Bearer b", "p", Role::read, 0).tenant, "y");
  EXPECT_EQ(access.decide("Bearer c", "p", Role::read, 0).tenant, "z");
  EXPECT_EQ(access.decide("Bearer c", "p", Role::ingest, 0).tenant, "z");
  const Decision no = access.decide("Bearer a", "p", Role::read, 0);
  EXPECT_FALSE(no.allowed);
  EXPECT_EQ(no.status, 403);
  EXPECT_EQ(no.label, "label a");
  EXPECT_THAT(no.why, HasSubstr("is for ingest"));
  EXPECT_EQ(access.decide("Bearer b", "p", Role::admin, 0).status, 403);
  EXPECT_EQ(access.asker("Bearer b")->tenant, "y");
  EXPECT_EQ(access.asker("Bearer b")->token, 2);
  EXPECT_TRUE(access.is_good(2));
  EXPECT_FALSE(access.is_good(4));
  EXPECT_FALSE(access.is_good(0));
  EXPECT_FALSE(access.asker("Bearer x"));
}

TEST(Access, WhatIsWrongIsRefusedAndSlowedDown) {
  Access access({});
  access.use({token(1, "a", Role::ingest)}, "default");
  for (const std::string_view text : {"", "a", "Bearer", "Bearer ", "Basic a", "Bearer aa"}) {
    EXPECT_EQ(access.decide(text, "p1", Role::ingest, 0).status, 401) << text;
  }
  int later = 0;
  for (int i = 0; i < 100; ++i) {
    const Decision decision = access.decide("Bearer guess", "p1", Role::ingest, 0);
    if (decision.status != 429) continue;
    ++later;
    EXPECT_EQ(decision.retry_after_s, 5);
  }
  EXPECT_EQ(later, 96);
  // Others are not, nor is who has one.
  EXPECT_EQ(access.decide("Bearer guess", "p2", Role::ingest, 0).status, 401);
  EXPECT_TRUE(access.decide("Bearer a", "p1", Role::ingest, 0).allowed);
  EXPECT_EQ(access.decide("Bearer guess", "p1", Role::ingest, 6 * kSecond).status, 401);
}

TEST(Access, OneTokenHasItsShare) {
  AccessLimits limits;
  limits.requests_per_s = 10;
  limits.requests_burst = 5;
  Access access(limits);
  const std::vector<store::Token> tokens = {token(1, "a", Role::ingest),
                                            token(2, "b", Role::ingest)};
  access.use(tokens, {});
  int allowed = 0;
  for (int i = 0; i < 20; ++i) allowed += access.decide("Bearer a", "p", Role::ingest, 0).allowed;
  EXPECT_EQ(allowed, 5);
  access.use(tokens, {});  // looked at again: nothing is given back
  EXPECT_EQ(access.decide("Bearer a", "p", Role::ingest, 0).status, 429);
  EXPECT_TRUE(access.decide("Bearer b", "p", Role::ingest, 0).allowed);
  EXPECT_TRUE(access.decide("Bearer a", "p", Role::ingest, kSecond).allowed);
}

TEST(Access, AddressesThatAreRememberedAreBounded) {
  AccessLimits limits;
  limits.addresses_max = 100;
  Access access(limits);
  access.use({token(1, "a", Role::ingest)}, {});
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(access.decide("Bearer x", "p" + std::to_string(i), Role::read, 0).status, 401);
  }
}

TEST(Access, TokensAreDrawnAtRandom) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string drawn = draw_token();
    EXPECT_EQ(drawn.size(), 46u);
    EXPECT_TRUE(drawn.starts_with("hw_"));
    EXPECT_TRUE(seen.insert(drawn).second);
  }
}

}  // namespace
}  // namespace headway::collector
