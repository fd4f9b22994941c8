#include "agent/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "base/check.h"
#include "base/job_path.h"

namespace headway::agent {
namespace {

template <typename T>
T number_or_zero(const std::string* text) {
  T value = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

std::string file_stem(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.find_last_of('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return name;
}

// What a person would call it: the script's stem, the module's last part, and for
// `python3 -u train.py` the script rather than the interpreter.
std::string command_stem(const RunOptions& options) {
  HW_CHECK(!options.command.empty());
  if (options.kind == CommandKind::module) {
    const std::string& module = options.command.front();
    return module.substr(module.find_last_of('.') + 1);
  }
  if (options.kind == CommandKind::program) {
    for (const std::string& word : options.command) {
      if (word.ends_with(".py")) return file_stem(word);
    }
  }
  return file_stem(options.command.front());
}

// Room is left for the time and a counter behind it.
std::string safe_name(const std::string& name) {
  constexpr std::size_t stem_bytes_max = 64;
  return base::sanitize_job_name(std::string_view(name).substr(0, stem_bytes_max));
}

}  // namespace

std::optional<SlurmInfo> slurm_info(const Environment& environment) {
  const std::string* id = find_variable(environment, "SLURM_JOB_ID");
  if (id == nullptr || id->empty()) return std::nullopt;
  SlurmInfo info;
  info.job_id = safe_name(*id);
  info.restart_count =
      number_or_zero<std::uint64_t>(find_variable(environment, "SLURM_RESTART_COUNT"));
  info.start_time_s =
      number_or_zero<std::int64_t>(find_variable(environment, "SLURM_JOB_START_TIME"));
  info.node_index = number_or_zero<int>(find_variable(environment, "SLURM_NODEID"));
  info.in_step = find_variable(environment, "SLURM_STEP_ID") != nullptr;
  const auto text = [&](const char* name) {
    const std::string* value = find_variable(environment, name);
    return value == nullptr ? std::string() : *value;
  };
  info.job_name = text("SLURM_JOB_NAME");
  info.nodes = text("SLURM_JOB_NODELIST");
  info.node_name = text("SLURMD_NODENAME");
  if (info.in_step && text("SLURM_STEP_TASKS_PER_NODE").starts_with("1(x")) {
    info.step_nodes =
        std::max(1, number_or_zero<int>(find_variable(environment, "SLURM_STEP_NUM_NODES")));
    info.step_hosts = text("SLURM_STEP_NODELIST");
  }
  return info;
}

std::string command_name(const RunOptions& options) {
  return safe_name(command_stem(options));
}

std::string default_job_name(const RunOptions& options, const std::optional<SlurmInfo>& slurm,
                             const std::tm& local_time) {
  const std::string stem = command_name(options);
  if (slurm) return fmt::format("{}-{}", stem, slurm->job_id);
  std::array<char, 32> stamp{};
  HW_CHECK(std::strftime(stamp.data(), stamp.size(), "%Y%m%d-%H%M%S", &local_time) > 0);
  return fmt::format("{}-{}", stem, stamp.data());
}

std::string format_note(const AllocationNote& note) {
  return fmt::format("base {} slurm {}\n", note.base,
                     note.slurm_job_id.empty() ? "-" : note.slurm_job_id);
}

std::optional<AllocationNote> parse_note(const std::string& text) {
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string base_word;
    std::string slurm_word;
    AllocationNote note;
    if (words >> base_word >> note.base >> slurm_word >> note.slurm_job_id && base_word == "base" &&
        slurm_word == "slurm") {
      if (note.slurm_job_id == "-") note.slurm_job_id.clear();
      return note;
    }
  }
  return std::nullopt;
}

Placement place_invocation(std::span<const std::uint64_t> seen,
                           const std::optional<AllocationNote>& note,
                           const std::optional<SlurmInfo>& slurm) {
  const std::uint64_t highest = seen.empty() ? 0 : *std::max_element(seen.begin(), seen.end());
  const std::uint64_t fresh = seen.empty() ? 0 : highest / kLaunchesPerAllocation + 1;
  Placement place;
  if (!slurm) {
    place.first = {fresh, 1};
    place.note = {"", fresh};
    return place;
  }
  const bool same_slurm_job = note && note->slurm_job_id == slurm->job_id;
  place.note.slurm_job_id = slurm->job_id;
  // The base is such that a requeue whose earlier starts never got as far as Headway still has
  // base + restart_count above everything seen.
  place.note.base = same_slurm_job ? note->base : fresh;
  place.first.allocation = place.note.base + slurm->restart_count;
  for (const std::uint64_t id : seen) {
    if (id / kLaunchesPerAllocation == place.first.allocation) {
      place.first.launch = std::max(place.first.launch, id % kLaunchesPerAllocation + 1);
    }
  }
  if (place.first.value() <= highest || place.first.launch >= kLaunchesPerAllocation) {
    place.first = {fresh, 1};  // a restart count that went backwards: order is worth more than it
  }
  HW_CHECK(seen.empty() || place.first.value() > highest);
  return place;
}

}  // namespace headway::agent
