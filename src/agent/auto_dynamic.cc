#include "agent/auto_dynamic.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "agent/step_times.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/job_path.h"
#include "base/plural.h"
#include "cluster/wire.h"
#include "compile/dynamic_sources.h"
#include "compile/trace_job.h"

namespace headway::agent {
namespace {

constexpr std::string_view kTraceVariable = "TORCH_TRACE";
constexpr std::string_view kTraced = "+";  // of a proposal, before the setting: it is traced
constexpr std::size_t kSourcesTold = 4;

// "L['x']:0, L['n'] and 3 more"
std::string listed(const std::set<compile::SourceDim>& sources) {
  std::string out;
  std::size_t told = 0;
  for (const compile::SourceDim& at : sources) {
    if (told++ == kSourcesTold) {
      return out + fmt::format(" and {} more", sources.size() - kSourcesTold);
    }
    out += (out.empty() ? "" : ", ") + compile::text_of(at);
  }
  return out;
}

// Logs of this attempt, the largest part of them that may be read. `left`: how many were not.
std::vector<std::string> logs_since(const std::string& dir, std::int64_t real_s,
                                    std::uint64_t bytes_max, std::size_t& left) {
  std::vector<std::string> out;
  auto found = compile::find_logs({dir});
  if (!found.ok()) return out;
  std::uint64_t bytes = 0;
  for (const std::string& path : *found) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0 || facts.st_mtime < real_s) continue;
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    if (size > bytes_max - bytes) {
      ++left;
      continue;
    }
    bytes += size;
    out.push_back(path);
  }
  return out;
}

// Attempts that differ in these are not compared.
std::string setup_of(const RunOptions& options, int ranks, const std::string& torch) {
  std::string words;
  for (const std::string& word : options.command) words += word + '\n';
  return fmt::format("{} ranks, torch {}, command {:08x}", ranks, torch,
                     base::crc32c(words.data(), words.size()));
}

}  // namespace

std::string family_file(const RunOptions& options) {
  for (const auto& [key, value] : options.attrs) {
    if (key == "family" && !value.empty()) {
      return fmt::format("family-{}-{:08x}.json", base::sanitize_job_name(value),
                         base::crc32c(value.data(), value.size()));
    }
  }
  std::error_code error;
  const std::string& script = options.command.front();
  std::string place;
  if (options.kind == CommandKind::script) {
    place = std::filesystem::absolute(script, error).lexically_normal().string();
  } else {  // a program's own words say which script it runs
    place = std::filesystem::current_path(error).string();
    for (const std::string& word : options.command) place += '\n' + word;
  }
  return fmt::format("{}-{:08x}.json",
                     base::sanitize_job_name(std::filesystem::path(script).stem().string()),
                     base::crc32c(place.data(), place.size()));
}

void AutoDynamic::open(const std::string& root, DynamicRole role) {
  if (!options_.auto_dynamic) return;
  const std::string* set_by_user = find_variable(environment_, compile::kDynamicSourcesVariable);
  if (set_by_user != nullptr && !set_by_user->empty()) {
    console_.note(fmt::format("--auto-dynamic does nothing: {} is set already",
                              compile::kDynamicSourcesVariable));
    return;
  }
  role_ = role;
  folder_ = root + "/.dynamic";
  name_ = family_file(options_);
  const base::Status made = base::make_dirs(folder_);
  if (!made.ok()) {
    console_.note(fmt::format("--auto-dynamic does nothing: {}", made.message()));
    return;
  }
  on_ = true;
}

// Another job of the family may have written it since.
void AutoDynamic::load() {
  memory_ = {};
  memory_.family = name_.substr(0, name_.rfind('-'));
  struct stat facts{};
  if (::stat(path().c_str(), &facts) != 0) return;
  auto text = base::read_file(path(), compile::kMemoryBytesMax);
  base::Result<compile::DynamicMemory> read =
      text.ok() ? compile::read_memory(*text) : base::Result<compile::DynamicMemory>(text.status());
  if (!read.ok()) {
    console_.note(
        fmt::format("--auto-dynamic begins anew: {}: {}", path(), read.status().message()));
    return;
  }
  memory_ = std::move(*read);
}

void AutoDynamic::save() {
  const base::Status status = base::write_file_atomic(path(), compile::write_memory(memory_));
  if (!status.ok()) console_.note(fmt::format("--auto-dynamic forgets: {}", status.message()));
}

void AutoDynamic::tell(AgentJournal& journal, const std::string& text) {
  console_.note("auto-dynamic: " + text);
  journal.attr("auto_dynamic", text.substr(0, 400));
}

std::string AutoDynamic::propose(std::size_t bytes_max) {
  if (!on_ || role_ != DynamicRole::leads) return "";
  load();
  proposed_.clear();
  if (!memory_.taken_back.empty()) return "";
  std::string setting = std::string(kTraced) + memory_.setting();
  if (!cluster::is_message_text(setting) || setting.size() > bytes_max) {
    console_.note(fmt::format("--auto-dynamic sets nothing: other machines cannot be told of {}",
                              base::plural(memory_.sources.size(), "source")));
    return std::string(kTraced);
  }
  proposed_ = memory_.sources;
  return setting;
}

void AutoDynamic::begin(const std::string& attempt_dir, const GroupPlace& place,
                        const std::string* agreed, AgentJournal& journal) {
  attempt_dir_ = attempt_dir;
  place_ = place;
  setting_.clear();
  applied_.clear();
  trace_dir_.clear();
  traces_ = false;
  if (!on_ || attempt_dir.empty()) return;
  if (role_ == DynamicRole::follows && (agreed == nullptr || agreed->empty())) return;
  if (role_ != DynamicRole::follows) load();  // who follows does as it is told
  if (!memory_.taken_back.empty()) {
    if (!told_) {
      tell(journal,
           fmt::format("not applied, {} (remove {} to try again)", memory_.taken_back, path()));
    }
    told_ = true;
    return;
  }
  const std::string* set_by_user = find_variable(environment_, kTraceVariable);
  traces_ = set_by_user == nullptr || set_by_user->empty();
  trace_dir_ = traces_ ? attempt_dir + "/trace" : *set_by_user;
  began_real_s_ = std::time(nullptr);
  setting_ = agreed == nullptr ? memory_.setting()
                               : agreed->substr(std::min(agreed->size(), kTraced.size()));
  if (setting_.empty() || role_ == DynamicRole::follows) return;
  applied_ = agreed == nullptr ? memory_.sources : proposed_;
  const std::string text = fmt::format("{} dynamic from the start: {}",
                                       base::plural(applied_.size(), "source"), listed(applied_));
  tell(journal, text);
}

void AutoDynamic::set(Environment& environment) const {
  std::string names;
  if (traces_ && !trace_dir_.empty()) {
    environment.insert_or_assign(std::string(kTraceVariable), trace_dir_);
    names = kTraceVariable;
  }
  if (!setting_.empty()) {
    environment.insert_or_assign(std::string(compile::kDynamicSourcesVariable), setting_);
    names += (names.empty() ? "" : ",") + std::string(compile::kDynamicSourcesVariable);
  }
  if (!names.empty()) environment.insert_or_assign(std::string(kAutoDynamicVariable), names);
}

void AutoDynamic::finish(const std::string& job, std::uint64_t attempt, AgentJournal& journal) {
  if (!on_ || role_ == DynamicRole::follows || trace_dir_.empty()) return;
  struct stat facts{};
  if (::stat(trace_dir_.c_str(), &facts) != 0) return;  // nothing was compiled
  // Jobs of a family may end together: one after the other reads, adds and writes.
  const base::UniqueFd lock(::open((path() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    console_.note("--auto-dynamic learns nothing of this attempt: another job of the family does");
    return;
  }
  learn(job, attempt, journal);
  trace_dir_.clear();  // once an attempt
}

void AutoDynamic::learn(const std::string& job, std::uint64_t attempt, AgentJournal& journal) {
  std::size_t left = 0;
  const auto paths = logs_since(trace_dir_, began_real_s_, learn_bytes_max, left);
  if (left > 0) {
    console_.note(fmt::format("--auto-dynamic does not read {} of {}: too large",
                              base::plural(left, "log"), trace_dir_));
  }
  if (paths.empty()) return;
  compile::ComponentTable components;
  auto logs = compile::read_logs(paths, {.sources = true}, components, {});
  if (!logs.ok()) {
    console_.note(fmt::format("--auto-dynamic learns nothing: {}", logs.status().message()));
    return;
  }
  const compile::DynamicFindings findings = compile::find_dynamic_sources(*logs, applied_);
  load();
  const std::set<compile::SourceDim> before = memory_.sources;
  const std::size_t added = memory_.learn(findings);
  const StepTimes times = read_step_times(attempt_dir_, place_.first_rank, options_.nproc);
  compile::TrialRecord record;
  record.job = job;
  record.attempt = attempt;
  std::string torch;
  for (const compile::ProcessLog& log : *logs) {
    if (torch.empty()) torch = log.torch_version;
  }
  record.setup = setup_of(options_, place_.world_size, torch);
  record.applied = !applied_.empty();
  record.steps = times.steps;
  record.measured = times.measured;
  record.step_ns = times.median_ns;
  record.spread_ns = times.spread_ns;
  record.saved_us = findings.saved_longest_us;
  for (const compile::ProcessLog& log : *logs) {
    std::int64_t us = 0;
    for (const compile::Compile& compile : log.compiles) us += compile.total_us();
    if (us < record.compile_us) continue;
    record.compile_us = us;
    record.compiles = static_cast<std::int64_t>(log.compiles.size());
  }
  const std::string setup = record.setup;
  memory_.add_record(std::move(record));
  if (added > 0) {
    std::set<compile::SourceDim> news;
    for (const compile::SourceDim& at : memory_.sources) {
      if (!before.contains(at)) news.insert(at);
    }
    tell(journal,
         fmt::format("learnt {}, dynamic from the next start on: would have saved {} of {} "
                     "({:.2f} s)",
                     listed(news), findings.saved, base::plural(findings.compiles, "compilation"),
                     static_cast<double>(findings.saved_longest_us) / 1e6));
  } else if (!applied_.empty()) {
    judge(setup, journal);
  }
  save();
}

// Code that was compiled for any size may meet a fault of the compiler's that code for one does
// not.
bool AutoDynamic::blame(AgentJournal& journal) {
  if (applied_.empty()) return false;
  if (read_step_times(attempt_dir_, place_.first_rank, options_.nproc).steps > 0) return false;
  load();
  const bool trains = std::any_of(memory_.records.begin(), memory_.records.end(),
                                  [](const auto& one) { return !one.applied && one.steps > 0; });
  if (!trains) return false;  // its steps are not seen: nothing can be told from there being none
  memory_.taken_back = "an attempt with it failed before its first step";
  save();
  tell(journal, "taken back: the attempt failed before its first step; going on without it");
  return true;
}

void AutoDynamic::judge(const std::string& setup, AgentJournal& journal) {
  const compile::TrialVerdict verdict = compile::judge_trial(memory_.records, setup);
  if (verdict.outcome == compile::TrialOutcome::undecided) return;
  const bool take_back = verdict.outcome == compile::TrialOutcome::take_back;
  if (take_back) memory_.taken_back = verdict.text;
  tell(journal, fmt::format("{}: {}", take_back ? "taken back" : "kept", verdict.text));
}

}  // namespace headway::agent
