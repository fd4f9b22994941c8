#include "failure/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace headway::failure {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::vector<Labelled> read_corpus(const fs::path& folder) {
  std::vector<Labelled> cases;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".log") cases.push_back(read_case(entry.path()));
  }
  std::sort(cases.begin(), cases.end(),
            [](const Labelled& a, const Labelled& b) { return a.path < b.path; });
  return cases;
}

}  // namespace headway::failure
