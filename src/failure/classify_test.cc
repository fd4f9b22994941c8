// The built-in rules on the labelled corpus (tests/failure/README.md has its format).
#include "failure/classify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace headway::failure {
namespace {

namespace fs = std::filesystem;

struct Labelled {
  fs::path path;
  std::map<std::string, std::string> expected;
  Evidence evidence;
};

std::map<std::string, std::string> fields_of(const std::string& text) {
  std::map<std::string, std::string> fields;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    fields[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return fields;
}

ErrorFile error_file(const std::string& text) {
  const std::size_t space = text.find(' ');
  ErrorFile file;
  file.rank = std::stoi(text.substr(text.find('=') + 1));
  const auto message = nlohmann::json::parse(text.substr(space + 1)).at("message");
  if (message.is_string()) {
    file.message = message.get<std::string>();
    return file;
  }
  file.message = message.at("message").get<std::string>();
  const auto info = message.value("extraInfo", nlohmann::json::object());
  if (info.contains("timestamp")) {
    const auto& time = info["timestamp"];
    file.time_s = time.is_string() ? std::stod(time.get<std::string>()) : time.get<double>();
  }
  return file;
}

void take_fact(const std::string& kind, const std::string& rest, Labelled& out) {
  if (kind == "expect") {
    out.expected = fields_of(rest);
  } else if (kind == "exit") {
    const auto fields = fields_of(rest);
    RankExit exit;
    exit.rank = std::stoi(fields.at("rank"));
    if (fields.contains("signal")) exit.signal = std::stoi(fields.at("signal"));
    if (fields.contains("code")) exit.code = std::stoi(fields.at("code"));
    out.evidence.exits.push_back(exit);
  } else if (kind == "scheduler") {
    out.evidence.scheduler.push_back(rest);
  } else if (kind == "kernel") {
    out.evidence.kernel.push_back(rest);
  } else if (kind == "cgroup") {
    out.evidence.kernel.push_back("cgroup " + rest);
  } else if (kind == "error_file") {
    out.evidence.error_files.push_back(error_file(rest));
  } else {
    ADD_FAILURE() << out.path << ": unknown fact " << kind;
  }
}

Labelled read_case(const fs::path& path) {
  Labelled out;
  out.path = path;
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#! ")) {
      const std::size_t space = line.find(' ', 3);
      take_fact(line.substr(3, space - 3), line.substr(space + 1), out);
    } else if (!line.empty()) {
      const std::size_t close = line.find(']');
      const std::string who = line.substr(1, close - 1);
      const std::size_t from = close + (line.substr(close + 1).starts_with(' ') ? 2 : 1);
      out.evidence.lines.push_back({who == "-" ? kNoRank : std::stoi(who), line.substr(from)});
    }
  }
  return out;
}

std::vector<Labelled> corpus() {
  std::vector<Labelled> cases;
  for (const auto& entry :
       fs::recursive_directory_iterator(HEADWAY_SOURCE_DIR "/tests/failure/corpus")) {
    if (entry.path().extension() == ".log") cases.push_back(read_case(entry.path()));
  }
  std::sort(cases.begin(), cases.end(),
            [](const Labelled& a, const Labelled& b) { return a.path < b.path; });
  return cases;
}

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
  const std::vector<Labelled> cases = corpus();
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
