#include "agent/family_history.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/job_path.h"
#include "interchange/job_input.h"
#include "interval/recorded.h"

namespace headway::agent {
namespace {

constexpr int kDepthMax = 2;  // of journals below a job's folder

std::string base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// As a collector has it (fleet/facts_of.cc).
std::string family_of(const timeline::JobResult& job) {
  const auto text = [&](const char* name) {
    const auto at = job.attrs.find(name);
    return at != job.attrs.end() ? at->second : std::string();
  };
  const std::string named = text("family");
  return named.empty() ? base_name(text("script")) : named;
}

std::uint64_t bytes_of_journals(const std::string& folder) {
  const auto files =
      base::list_files(folder, base::kJournalSuffix, kDepthMax, interchange::kFilesMax);
  if (!files.ok()) return UINT64_MAX;
  std::uint64_t bytes = 0;
  for (const std::string& path : files.value()) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace

std::string family_of(const RunOptions& options) {
  for (const auto& [key, value] : options.attrs) {
    if (key == "family" && !value.empty()) return value;
  }
  return options.kind == CommandKind::program ? "" : base_name(options.command.front());
}

FamilyHistory::~FamilyHistory() {
  leave_ = true;  // the future waits for its thread
}

void FamilyHistory::start(const std::string& root, const std::string& job,
                          std::uint64_t first_attempt, const std::string& family) {
  try {
    reading_ = std::async(std::launch::async, [this, root, job, first_attempt, family] {
      return read(root, job, first_attempt, family);
    });
  } catch (const std::system_error&) {  // no thread to be had: it is not known then
  }
}

FamilyHistory::Found FamilyHistory::read(const std::string& root, const std::string& job,
                                         std::uint64_t first_attempt,
                                         const std::string& family) const {
  Found found;
  std::uint64_t left = bytes_max;
  std::size_t looked_at = 0;
  const auto load = [&](const std::string& name) -> std::optional<timeline::JobResult> {
    const std::uint64_t bytes = bytes_of_journals(base::job_dir(root, name));
    if (leave_ || bytes > std::min(left, job_bytes_max)) return std::nullopt;
    left -= bytes;
    interchange::LoadOptions options;
    options.root = root;
    auto streams = interchange::load_job(base::job_dir(root, name), options);
    if (!streams.ok()) return std::nullopt;
    return timeline::attribute_job(*streams, {});
  };
  if (const auto own = load(job)) {
    for (std::size_t i = 0; i < own->attempts.size(); ++i) {
      if (static_cast<std::uint64_t>(own->attempts[i].id) >= first_attempt) break;
      found.cut_off = interval::was_cut_off(*own, i, true) ? 1 : 0;
    }
  }
  for (const std::string& name : interchange::recent_jobs(root)) {
    if (leave_ || family.empty() || looked_at == jobs_max) break;
    if (name == job) continue;  // a checkpoint carries what the job itself has learnt
    ++looked_at;
    const auto other = load(name);
    if (other && family_of(*other) == family) found.family += interval::history_of(*other);
  }
  return found;
}

void FamilyHistory::add_to(Environment& environment) {
  const std::chrono::nanoseconds wait(std::exchange(waited_, true) ? 0 : wait_ns);
  if (reading_.valid() && reading_.wait_for(wait) == std::future_status::ready) {
    found_ = reading_.get();
  }
  const interval::History& family = found_.family;
  if (family.seconds > 0) {
    environment.insert_or_assign(
        std::string(kFamilyVariable),
        fmt::format("{} {} {} {:.0f}", family.failures[0], family.failures[1], family.failures[2],
                    family.seconds));
  }
  const int cut_off = cut_off_ >= 0 ? cut_off_ : found_.cut_off;
  if (cut_off >= 0) {
    environment.insert_or_assign(std::string(kLastEndVariable),
                                 std::string(cut_off == 1 ? "cut off" : "orderly"));
  }
}

}  // namespace headway::agent
