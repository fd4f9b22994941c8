#include "base/job_path.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace headway::base {
namespace {

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_first(char c) {
  return is_alnum(c) || c == '_';
}

bool is_safe(char c) {
  constexpr std::string_view kOthers = "._+@=-";
  return is_alnum(c) || kOthers.find(c) != std::string_view::npos;
}

// An environment variable that is set to something.
std::string_view env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

}  // namespace

bool is_job_name(std::string_view name) {
  if (name.empty() || name.size() > job_name_bytes_max || !is_first(name.front())) return false;
  for (const char c : name) {
    if (!is_safe(c)) return false;
  }
  return true;
}

Status check_job_name(std::string_view name) {
  if (is_job_name(name)) return {};
  if (name.empty()) return Status::invalid("job name is empty; give it a name such as dlrm-7");
  if (name.size() > job_name_bytes_max) {
    return Status::invalid("job name of " + std::to_string(name.size()) + " bytes; at most " +
                           std::to_string(job_name_bytes_max) + " are allowed");
  }
  return Status::invalid("job name '" + std::string(name) +
                         "' cannot be a folder name; use letters, digits and . _ + @ = - and begin "
                         "with a letter or digit (" +
                         sanitize_job_name(name) + " would do)");
}

std::string sanitize_job_name(std::string_view text) {
  std::string name(text.substr(0, job_name_bytes_max));
  for (char& c : name) {
    if (!is_safe(c)) c = '_';
  }
  if (name.empty()) name = "_";
  if (!is_first(name.front())) name.front() = '_';
  HW_CHECK(is_job_name(name));
  return name;
}

Result<std::string> jobs_root(std::string_view given) {
  if (!given.empty()) return std::string(given);
  if (const auto dir = env("HEADWAY_DIR"); !dir.empty()) return std::string(dir);
  if (const auto state = env("XDG_STATE_HOME"); !state.empty() && state.front() == '/') {
    return std::string(state) + "/headway";
  }
  if (const auto home = env("HOME"); !home.empty()) {
    return std::string(home) + "/.local/state/headway";
  }
  return Status::not_found("no folder for journals: set HEADWAY_DIR (HOME is not set either)");
}

std::string job_dir(std::string_view root, std::string_view job) {
  HW_CHECK(is_job_name(job));
  return std::string(root) + "/" + std::string(job);
}

std::string attempt_dir(std::string_view root, std::string_view job, std::uint64_t attempt) {
  return job_dir(root, job) + "/" + std::to_string(attempt);
}

std::string rank_journal_stem(std::uint32_t rank) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "rank-%05u", rank);
  return text.data();
}

std::string agent_journal_stem(std::string_view host) {
  return "agent-" + sanitize_job_name(host);
}

std::string rank_log_path(std::string_view attempt_dir, std::uint32_t rank) {
  return std::string(attempt_dir) + "/rank-" + std::to_string(rank) + ".log";
}

std::string error_file_path(std::string_view attempt_dir, std::uint32_t rank) {
  return std::string(attempt_dir) + "/error-" + std::to_string(rank) + ".json";
}

}  // namespace headway::base
