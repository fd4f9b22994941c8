#include "agent/options.h"

#include <fmt/format.h>

#include "base/job_path.h"

namespace headway::agent {

using base::Status;

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

Status check_options(const RunOptions& options) {
  if (options.command.empty()) {
    return Status::invalid(
        "run: nothing to run; give a script (headway run train.py) or a command (headway run -- "
        "CMD)");
  }
  if (options.command.front().empty()) return Status::invalid("run: the command's name is empty");
  if (options.nproc < 1 || options.nproc > kRanksMax) {
    return Status::invalid(fmt::format("--nproc {}: want 1 to {}", options.nproc, kRanksMax));
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
