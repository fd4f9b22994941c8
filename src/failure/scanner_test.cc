// The fast scan against the plain one: on the whole corpus, and on lines made of its pieces.
#include "failure/scanner.h"

#include <gtest/gtest.h>

#include <random>

#include "base/source_path.h"
#include "failure/corpus.h"
#include "failure/plain_scan.h"

namespace headway::failure {
namespace {

class Scan : public testing::Test {
 protected:
  Scan()
      : rules_(parse_rules(builtin_rules_text(), "rules.toml").value()),
        fast_(rules_),
        plain_log_(rules_, where_log),
        plain_kernel_(rules_, where_kernel),
        plain_scheduler_(rules_, where_scheduler),
        cases_(read_corpus(base::source_path("tests/failure/corpus"))) {
    for (const Labelled& labelled : cases_) {
      each_line(labelled.evidence, false,
                [&](const LineView& line) { lines_.emplace_back(line.text); });
      for (const auto* more : {&labelled.evidence.kernel, &labelled.evidence.scheduler}) {
        lines_.insert(lines_.end(), more->begin(), more->end());
      }
    }
    lines_.insert(lines_.end(), {"", " ", "a.B", "a.B: x", "x ERROR: y",
                                 "Traceback (most recent call last):", "Exception ignored in: <x>",
                                 "(pid=1) KeyError: 'a'", "12: ValueError", "step 1 loss 2",
                                 "step 2 loss 2", "epoch 3 loss 1", "10%|#| 1/10 [x",
                                 "{'loss': 1, 'epoch': 2}", "\xff\xfe\x01", "  | RuntimeError: x"});
  }

  [[nodiscard]] const std::string& any_line() { return lines_[random_() % lines_.size()]; }
  // A line, or the pieces of two, or one with a byte changed.
  [[nodiscard]] std::string made_line() {
    std::string line = any_line();
    const auto place = [&](const std::string& text) { return random_() % (text.size() + 1); };
    switch (random_() % 4) {
      case 0: {
        const std::string other = any_line();
        return line.substr(0, place(line)) + other.substr(place(other));
      }
      case 1:
        if (!line.empty()) line[random_() % line.size()] = static_cast<char>(random_() % 256);
        return line;
      case 2:
        return std::string(random_() % 4, ' ') + line;
      default:
        return line;
    }
  }

  static constexpr unsigned kSeed = 161803;
  const Rules rules_;
  const Scanner fast_;
  const PlainScanner plain_log_, plain_kernel_, plain_scheduler_;
  const std::vector<Labelled> cases_;
  std::vector<std::string> lines_;
  std::mt19937 random_{kSeed};
};

TEST_F(Scan, EveryLineHasTheSameRule) {
  SCOPED_TRACE(kSeed);
  int found = 0;
  const auto check = [&](const std::string& line) {
    ASSERT_EQ(fast_.best(line, where_log), plain_log_.best(line)) << line;
    ASSERT_EQ(fast_.best(line, where_kernel), plain_kernel_.best(line)) << line;
    ASSERT_EQ(fast_.best(line, where_scheduler), plain_scheduler_.best(line)) << line;
    found += plain_log_.best(line) != nullptr ? 1 : 0;
  };
  for (const std::string& line : lines_) check(line);
  for (int i = 0; i < 20'000 && !HasFatalFailure(); ++i) check(made_line());
  EXPECT_GT(found, 1000);
}

void expect_same(const std::map<int, std::vector<Hit>>& fast,
                 const std::map<int, std::vector<Hit>>& plain, const std::string& what) {
  const auto told = [](const std::map<int, std::vector<Hit>>& hits) {
    std::string text;
    for (const auto& [rank, found] : hits) {
      for (const Hit& hit : found) {
        text += std::to_string(rank) + " " + std::to_string(hit.position) + " " + hit.rule->id +
                " " + hit.line + "\n";
      }
    }
    return text;
  };
  ASSERT_EQ(told(fast), told(plain)) << what;
}

TEST_F(Scan, TheCorpusGivesTheSameHits) {
  for (const Labelled& labelled : cases_) {
    expect_same(gather_hits(labelled.evidence, rules_, fast_),
                gather_plainly(labelled.evidence, rules_, plain_log_), labelled.path);
  }
}

// Lines of all cases in any order, from a few ranks: noise begins and ends anywhere, progress comes
// and goes.
TEST_F(Scan, AnyLogGivesTheSameHits) {
  SCOPED_TRACE(kSeed);
  const std::vector<std::string> progress = {"step 1 loss 2", "epoch 3 loss 1", "10%|#| 1/10 [x",
                                             "{'loss': 1, 'epoch': 2}",
                                             "INFO step=7 loss=1 epoch=3"};
  for (int round = 0; round < 300 && !HasFatalFailure(); ++round) {
    Evidence evidence;
    Log log{0, "", true};
    const bool trains = random_() % 2 == 0;
    for (auto i = random_() % 120; i > 0; --i) {
      std::string line = trains && random_() % 3 == 0 ? progress[random_() % progress.size()]
                         : random_() % 30 == 0        ? "Exception ignored in: <function x>"
                                                      : made_line();
      for (char& c : line) {
        if (c >= '1' && c <= '3' && random_() % 4 == 0) c = static_cast<char>('1' + random_() % 3);
      }
      log.text += "[" + std::to_string(random_() % 3) + "] " + line + "\n";
    }
    evidence.logs.push_back(std::move(log));
    expect_same(gather_hits(evidence, rules_, fast_), gather_plainly(evidence, rules_, plain_log_),
                evidence.logs.front().text);
  }
}

// Few lines again and again with other digits: what was found out for a line's shape must hold for
// all of them. "500 GET" is evidence, "501 GET" is not.
TEST_F(Scan, OtherDigitsMayMeanOtherThings) {
  SCOPED_TRACE(kSeed);
  std::vector<std::string> numbered = {"500 GET x",      "(404) y", "[Errno 5] z",
                                       "HTTP 403",       "Xid 79",  "retry 1/5: 503 Server Error",
                                       "WARNING 504 GET"};
  for (const std::string& line : lines_) {
    if (line.find_first_of("0123456789") != std::string::npos) numbered.push_back(line);
  }
  for (int round = 0; round < 300 && !HasFatalFailure(); ++round) {
    std::vector<std::string> few;
    for (int i = 0; i < 8; ++i) few.push_back(numbered[random_() % (i < 4 ? 7 : numbered.size())]);
    Evidence evidence;
    Log log{0, "", false};
    for (int i = 0; i < 80; ++i) {
      std::string line = few[random_() % few.size()];
      for (char& c : line) {
        if (c >= '0' && c <= '9' && random_() % 4 == 0) c = static_cast<char>('0' + random_() % 10);
      }
      log.text += line + "\n";
    }
    evidence.logs.push_back(std::move(log));
    expect_same(gather_hits(evidence, rules_, fast_), gather_plainly(evidence, rules_, plain_log_),
                evidence.logs.front().text);
  }
}

// Rules of one's own need not hold any literal, nor begin at the line's beginning.
TEST_F(Scan, PatternsWithoutLiterals) {
  const char* text = R"(
[[rule]]
id = "a"
category = "x"
role = "cause"
origin = "user"
priority = 5
where = ["log"]
pattern = '\d\d+ [a-f]+$'
[[rule]]
id = "b"
category = "x"
role = "cause"
origin = "user"
priority = 6
where = ["log"]
pattern = 'q+'
[[prefix]]
id = "p"
pattern = '<\w*> ?'
[[noise]]
id = "n"
block = true
pattern = '\?\?'
[[progress]]
id = "t"
pattern = '#(\d+)'
)";
  const Rules own = parse_rules(text, "own.toml").value();
  const Scanner fast(own);
  const PlainScanner plain(own, where_log);
  for (int round = 0; round < 300 && !HasFatalFailure(); ++round) {
    Evidence evidence;
    Log log{0, "", false};
    for (auto i = random_() % 400; i > 0; --i) log.text += "12 abq<>?#\n\n\n"[random_() % 14];
    evidence.logs.push_back(std::move(log));
    expect_same(gather_hits(evidence, own, fast), gather_plainly(evidence, own, plain),
                evidence.logs.front().text);
  }
}

}  // namespace
}  // namespace headway::failure
