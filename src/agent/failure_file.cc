#include "agent/failure_file.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/own_verdict.h"
#include "base/file.h"
#include "failure/redact.h"
#include "failure/verdict_json.h"

namespace headway::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kShownLinesMax = 40;  // of each rank's output

std::string path_in(const std::string& attempt_dir) {
  return attempt_dir + "/failure.json";
}

Json tail_json(const Remains& remains, int rank) {
  Json lines = Json::array();
  for (const Remains::Rank& kept : remains.ranks) {
    if (kept.rank != rank) continue;
    const failure::TailLines tail = kept.tail.lines();
    const std::size_t shown = std::min(tail.lines.size(), kShownLinesMax);
    for (std::size_t i = tail.lines.size() - shown; i < tail.lines.size(); ++i) {
      lines.push_back(tail.lines[i]);
    }
  }
  return lines;
}

}  // namespace

base::Status write_failure_file(const Remains& remains, const FailureRecord& record) {
  if (remains.dir.empty()) return {};
  if (record.unless_there && ::access(path_in(remains.dir).c_str(), F_OK) == 0) return {};
  Json file = {{"version", kVersion},
               {"time_ns", record.real_ns},
               {"verdict", failure::verdict_json(record.verdict)},
               {"decision", record.decision},
               {"kernel", record.kernel},
               {"ranks", Json::array()}};
  file["verdict"]["proof"] = failure::redact_line(record.verdict.proof);
  for (const EndedRank& ended : remains.ends) {
    file["ranks"].push_back({{"rank", ended.rank},
                             {"exit_code", ended.end.exit_code},
                             {"signal", ended.end.signal},
                             {"ended_by_us", ended_by_us(ended)},
                             {"tail", tail_json(remains, ended.rank)}});
  }
  const std::string text = file.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return base::write_file_atomic(path_in(remains.dir), text);
}

std::optional<FailureFacts> read_failure_file(const std::string& attempt_dir) {
  const auto text = base::read_file(path_in(attempt_dir), failure_file_bytes_max);
  if (!text.ok()) return std::nullopt;
  const Json file = Json::parse(text.value(), nullptr, false);
  if (!file.is_object()) return std::nullopt;
  FailureFacts facts;
  try {
    if (file.value("version", 0) != kVersion) return std::nullopt;
    for (const Json& rank : file.value("ranks", Json::array())) {
      if (rank.value("ended_by_us", false)) continue;
      facts.exits.push_back(
          {rank.value("rank", 0), rank.value("exit_code", 0), rank.value("signal", 0)});
    }
    for (const Json& line : file.value("kernel", Json::array())) {
      facts.kernel.push_back(line.get<std::string>());
    }
    const failure::Verdict verdict =
        failure::verdict_from_json(file.value("verdict", Json::object()));
    if (verdict.rule.starts_with(kOwnRules)) facts.seen = verdict;
    facts.proof = verdict.proof;
    facts.decision = file.value("decision", "");
  } catch (const Json::exception&) {  // somebody has edited it: as if it were not there
    return std::nullopt;
  }
  return facts;
}

}  // namespace headway::agent
