#include "fleet/fact_bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace headway::fleet {
namespace {

AttemptFacts random_facts(std::mt19937_64& random) {
  const auto any = [&] {
    const auto value = static_cast<std::int64_t>(random());
    return random() % 4 == 0 ? value : value >> (random() % 60);
  };
  const auto text = [&] {
    return std::string(random() % 12, static_cast<char>('a' + random() % 26));
  };
  const auto sums = [&] {
    timeline::Sums out;
    for (std::int64_t& ns : out.ns) ns = random() % 3 == 0 ? any() : 0;
    return out;
  };
  AttemptFacts facts;
  facts.attempt = any();
  for (std::string& value : facts.dimensions) value = text();
  facts.devices = static_cast<std::uint32_t>(random()) | 1;
  for (auto i = random() % 5; i > 0; --i) facts.levers.push_back(text());
  for (auto i = random() % 5; i > 0; --i) facts.hosts.push_back(text());
  facts.begin_ns = any();
  facts.end_ns = any();
  facts.ending = static_cast<Ending>(random() % 3);
  std::int32_t day = -5;
  for (auto i = 1 + random() % 4; i > 0; --i) {
    day += 1 + static_cast<std::int32_t>(random() % 9);
    facts.slices.push_back({day, sums(), any(), any(), static_cast<std::uint32_t>(random())});
  }
  if (random() % 2) facts.start = Start{any(), any(), random() % 2 == 0, sums(), any()};
  if (random() % 2) {
    facts.failure = FailureFact{any(),
                                static_cast<Origin>(1 + random() % 4),
                                text(),
                                text(),
                                any(),
                                any(),
                                random() % 2 ? std::optional(any()) : std::nullopt};
  }
  const auto graphs = [&] { return static_cast<std::uint32_t>(random() >> (random() % 60)); };
  if (random() % 2) {
    facts.cache =
        CacheFact{random() % 2 == 0, random() % 2 == 0, graphs(), graphs(), graphs(), any(), any()};
  }
  return facts;
}

TEST(FactBytes, ComeBackAsTheyWere) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const AttemptFacts facts = random_facts(random);
    const auto bytes = to_bytes(facts);
    auto back = facts_from_bytes(bytes, "row");
    ASSERT_TRUE(back.ok()) << i << ": " << back.status().message();
    ASSERT_TRUE(*back == facts) << "seed 7, facts " << i;
  }
}

TEST(FactBytes, EveryCutIsFound) {
  std::mt19937_64 random(8);
  const auto bytes = to_bytes(random_facts(random));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(facts_from_bytes(std::span(bytes).first(size), "row").ok()) << size;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(facts_from_bytes(longer, "row").status().code(), base::Code::corrupt);
}

// A collector of an older Headway may share the database.
TEST(FactBytes, WithoutACacheTheyAreOfTheFirstVersion) {
  std::mt19937_64 random(10);
  AttemptFacts facts = random_facts(random);
  facts.cache = CacheFact{.asked = true, .unpacked = false, .hits = 3};
  auto bytes = to_bytes(facts);
  EXPECT_EQ(bytes[0], std::byte{2});
  bytes[0] = std::byte{1};
  EXPECT_EQ(facts_from_bytes(bytes, "row").status().code(), base::Code::corrupt)
      << "the first version knows no caches";
  facts.cache.reset();
  bytes = to_bytes(facts);
  EXPECT_EQ(bytes[0], std::byte{1});
  bytes[0] = std::byte{2};
  EXPECT_EQ(facts_from_bytes(bytes, "row").status().code(), base::Code::corrupt)
      << "there is one way to write it";
}

TEST(FactBytes, ANewerVersionIsNamed) {
  std::mt19937_64 random(9);
  auto bytes = to_bytes(random_facts(random));
  bytes[0] = std::byte{kFactVersion + 1};
  const auto status = facts_from_bytes(bytes, "row 5").status();
  EXPECT_EQ(status.code(), base::Code::unsupported);
  EXPECT_EQ(status.message(),
            "row 5: facts of version 3; this build knows up to 2, install a newer Headway");
}

}  // namespace
}  // namespace headway::fleet
