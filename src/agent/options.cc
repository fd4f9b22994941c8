#include "agent/options.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "base/duration.h"
#include "base/job_path.h"

namespace headway::agent {

using base::Status;

namespace {

Status bad_nproc(const std::string& text) {
  return Status::invalid(fmt::format("--nproc {}: want 1 to {}", text, kRanksMax));
}

// Python runs a folder as it runs a script, if it holds a __main__.
bool is_folder_without_main(const std::string& script) {
  std::error_code error;
  const std::filesystem::path folder = script;
  return std::filesystem::is_directory(folder, error) &&
         !std::filesystem::exists(folder / "__main__.py", error) &&
         !std::filesystem::exists(folder / "__main__.pyc", error);
}

}  // namespace

base::Result<int> parse_nproc(const std::string& text) {
  int count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end) return bad_nproc(text);
  return count;
}

base::Result<std::int64_t> parse_grace(const std::string& text) {
  return base::parse_time_option("--grace", text, 0, kGraceMaxS);
}

base::Result<RequeueWhen> parse_requeue(const std::string& text) {
  if (text == "never") return RequeueWhen::never;
  if (text == "preempted") return RequeueWhen::preempted;
  if (text == "time-limit") return RequeueWhen::time_limit;
  return Status::invalid(fmt::format("--requeue {}: want never, preempted or time-limit", text));
}

base::Result<std::pair<std::string, std::string>> parse_attr(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Status::invalid(fmt::format("--attr {}: want key=value", text));
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

std::string collector_of(const RunOptions& options, const std::string* variable) {
  std::string url = options.collector;
  if (url.empty() && variable != nullptr) url = *variable;
  while (url.ends_with('/')) url.pop_back();
  return url == "off" ? std::string() : url;
}

Status check_options(const RunOptions& options) {
  const std::string& url = options.collector;
  if (!url.empty() && url != "off" && !url.starts_with("http://") && !url.starts_with("https://")) {
    return Status::invalid(
        fmt::format("--collector {}: want the address of a `headway serve`, as in "
                    "http://127.0.0.1:8743, or off",
                    url));
  }
  if (options.command.empty()) {
    return Status::invalid(
        "run: nothing to run; give a script (headway run train.py) or a command (headway run -- "
        "CMD)");
  }
  if (options.command.front().empty()) return Status::invalid("run: the command's name is empty");
  if (options.kind == CommandKind::script && is_folder_without_main(options.command.front())) {
    return Status::invalid(fmt::format("{}: a folder without __main__.py; name the script in it",
                                       options.command.front()));
  }
  if (options.cold && !options.preload.empty()) {
    return Status::invalid(
        "--preload: with --cold nothing is imported ahead; leave one of the two out");
  }
  if (options.nproc < 1 || options.nproc > kRanksMax) {
    return bad_nproc(fmt::to_string(options.nproc));
  }
  if (options.grace_ns < 0 || options.grace_ns > kGraceMaxS * 1'000'000'000) {
    return Status::invalid(fmt::format("--grace: want 0 to {} seconds", kGraceMaxS));
  }
  if (options.attrs.size() > kAttrsMax) {
    return Status::invalid(fmt::format("--attr: at most {} are kept", kAttrsMax));
  }
  if (Status status = check_nodes(options.nodes); !status.ok()) return status;
  return options.job.empty() ? Status{} : base::check_job_name(options.job);
}

}  // namespace headway::agent
