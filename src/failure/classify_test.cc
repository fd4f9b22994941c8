// The built-in rules on the labelled corpus (tests/failure/README.md has its format).
#include "failure/classify.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "base/source_path.h"
#include "failure/corpus.h"

namespace headway::failure {
namespace {

std::map<std::string, std::string> fields_of(const Verdict& v) {
  return {{"category", v.category},
          {"role", std::string(role_name(v.role))},
          {"origin", v.origin},
          {"retryable", v.retryable ? "yes" : "no"},
          {"rank", v.rank == kNoRank ? "none" : std::to_string(v.rank)}};
}

Classifier built_in() {
  auto rules = parse_rules(builtin_rules_text(), "rules.toml");
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return Classifier(std::move(*rules));
}

TEST(Classify, TheCorpus) {
  const Classifier classifier = built_in();
  const std::vector<Labelled> cases = read_corpus(base::source_path("tests/failure/corpus"));
  ASSERT_GE(cases.size(), 150u);
  std::map<std::pair<std::string, std::string>, int> confusion;
  for (const Labelled& c : cases) {
    const Verdict verdict = classifier.classify(c.evidence);
    ++confusion[{c.expected.at("category"), verdict.category}];
    // In step with tests/failure/reference.py, to the last field.
    EXPECT_EQ(fields_of(verdict), c.expected) << c.path << ": " << verdict.rule << verdict.proof;
  }
  int right = 0;
  for (const auto& [pair, count] : confusion) {
    if (pair.first == pair.second) right += count;
    if (pair.first != pair.second) {
      std::cout << "expected " << pair.first << ", got " << pair.second << ": " << count << "\n";
    }
  }
  std::cout << right << " of " << cases.size() << " cases right\n";
  EXPECT_GE(right * 100, static_cast<int>(cases.size()) * 95);
}

TEST(Classify, NothingAtAllIsUnknown) {
  const Classifier classifier = built_in();
  EXPECT_EQ(classifier.classify({}).category, "unknown");
  Evidence evidence;
  evidence.exits = {{0, 0, 0}};
  evidence.lines = {{0, "\xff\xfe CUDA out of memory \x01 x"}};
  EXPECT_EQ(classifier.classify(evidence).category, "none") << "it ended well";
  evidence.exits = {{0, 1, 0}};
  const Verdict verdict = classifier.classify(evidence);
  EXPECT_EQ(verdict.category, "gpu_oom");
  EXPECT_EQ(verdict.rank, 0);
}

}  // namespace
}  // namespace headway::failure
