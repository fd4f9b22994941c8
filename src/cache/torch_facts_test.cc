#include "cache/torch_facts.h"

#include <gtest/gtest.h>

namespace headway::cache {
namespace {

const KeptFacts kKept{{"2.13.0+cpu", "abc123", "cpython-311", "/opt/v/lib/site-packages"}, "d 1.2"};

TEST(TorchFacts, AreReadAsTheyWereWritten) {
  const auto read = parse_facts(to_text(kKept));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, kKept);
}

TEST(TorchFacts, OfAnyPartNothingIsTaken) {
  const std::string text = to_text(kKept);
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_FALSE(parse_facts(text.substr(0, bytes)).has_value()) << bytes;
  }
  EXPECT_FALSE(parse_facts(text + "more=1\n").has_value());
}

TEST(TorchFacts, AnotherVersionAndAPathOfTwoLinesAreAskedAgain) {
  std::string later = to_text(kKept);
  later.replace(later.find(" 1\n"), 3, " 2\n");
  EXPECT_FALSE(parse_facts(later).has_value());
  KeptFacts odd = kKept;
  odd.facts.environment = "/opt/a\nb";
  EXPECT_FALSE(parse_facts(to_text(odd)).has_value());
  odd = kKept;
  odd.facts.torch.clear();
  EXPECT_FALSE(parse_facts(to_text(odd)).has_value()) << "no torch, nothing to remember";
}

}  // namespace
}  // namespace headway::cache
