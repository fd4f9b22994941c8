#include "agent/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/file.h"

namespace headway::agent {
namespace {

// Left over from a run around this one; they would name the wrong job.
constexpr std::string_view kInherited[] = {"HEADWAY_DIR",
                                           "HEADWAY_JOB",
                                           "HEADWAY_ATTEMPT",
                                           "HEADWAY_ANCHOR",
                                           "HEADWAY_TSC_HZ",
                                           "HEADWAY_RANK_PID",
                                           "HEADWAY_RESTARTS",
                                           "HEADWAY_RUN",
                                           "HEADWAY_BOARD",
                                           "HEADWAY_REPLICA",
                                           "HEADWAY_REPLICA_TRUSTED",
                                           "HEADWAY_AUTO_DYNAMIC",
                                           "HEADWAY_WARM_COMPILE",
                                           "HEADWAY_FAMILY_HISTORY",
                                           "HEADWAY_LAST_END"};

constexpr std::string_view kPinsVariable = "HEADWAY_AUTOTUNE_PINS";

constexpr std::string_view kFlightRecorder[] = {"TORCH_FR_DUMP_TEMP_FILE",
                                                "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"};

// Of add_rank_contract() and add_measurement(): what differs between ranks or between starts.
constexpr std::string_view kIdentity[] = {"RANK",
                                          "LOCAL_RANK",
                                          "ROLE_RANK",
                                          "GROUP_RANK",
                                          "WORLD_SIZE",
                                          "LOCAL_WORLD_SIZE",
                                          "ROLE_WORLD_SIZE",
                                          "GROUP_WORLD_SIZE",
                                          "MASTER_ADDR",
                                          "MASTER_PORT",
                                          "TORCHELASTIC_RESTART_COUNT",
                                          "TORCHELASTIC_ERROR_FILE",
                                          "HEADWAY_ATTEMPT",
                                          "HEADWAY_BOARD",
                                          "HEADWAY_REPLICA_TRUSTED",
                                          "HEADWAY_FAMILY_HISTORY",
                                          "HEADWAY_LAST_END",
                                          "HEADWAY_RANK_PID",
                                          "HEADWAY_RESTARTS"};

void set(Environment& environment, std::string_view name, std::string value) {
  environment.insert_or_assign(std::string(name), std::move(value));
}

void set_if_missing(Environment& environment, std::string_view name, std::string value) {
  environment.try_emplace(std::string(name), std::move(value));
}

void add_rank_contract(Environment& environment, const RankIdentity& identity) {
  const GroupPlace& place = identity.place;
  HW_CHECK(identity.local_rank >= 0 && identity.local_rank < identity.nproc);
  HW_CHECK(place.first_rank >= 0 && place.first_rank + identity.nproc <= place.world_size);
  HW_CHECK(place.master_port > 0 && place.master_port < 65536);
  const std::string rank = fmt::to_string(place.first_rank + identity.local_rank);
  const std::string world = fmt::to_string(place.world_size);
  set(environment, "RANK", rank);
  set(environment, "LOCAL_RANK", fmt::to_string(identity.local_rank));
  set(environment, "ROLE_RANK", rank);
  set(environment, "GROUP_RANK", fmt::to_string(place.node_rank));
  set(environment, "WORLD_SIZE", world);
  set(environment, "LOCAL_WORLD_SIZE", fmt::to_string(identity.nproc));
  set(environment, "ROLE_WORLD_SIZE", world);
  set(environment, "GROUP_WORLD_SIZE", fmt::to_string(place.nodes));
  set(environment, "ROLE_NAME", "default");
  set(environment, "MASTER_ADDR", place.master_addr);
  set(environment, "MASTER_PORT", fmt::to_string(place.master_port));
  set(environment, "TORCHELASTIC_RESTART_COUNT", fmt::to_string(identity.restart_count));
  set(environment, "TORCHELASTIC_MAX_RESTARTS", fmt::to_string(identity.restarts_max));
  set(environment, "TORCHELASTIC_RUN_ID", identity.run_id);
  set(environment, "TORCHELASTIC_USE_AGENT_STORE", "False");
  set(environment, "TORCHELASTIC_ERROR_FILE", identity.error_file);
  set_if_missing(environment, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  // Torch would start a thread for every core in every rank.
  if (identity.nproc > 1) set_if_missing(environment, "OMP_NUM_THREADS", "1");
}

void add_measurement(Environment& environment, const Measurement& measurement) {
  set(environment, "HEADWAY_DIR", measurement.dir);
  set(environment, "HEADWAY_JOB", measurement.job);
  set(environment, "HEADWAY_ATTEMPT", fmt::to_string(measurement.attempt));
  // What a launcher inside adds to this count is restarts that we do not make.
  const std::string* restarts = find_variable(environment, "TORCHELASTIC_RESTART_COUNT");
  set(environment, "HEADWAY_RESTARTS", restarts != nullptr ? *restarts : "0");
  if (!measurement.anchor.empty()) set(environment, "HEADWAY_ANCHOR", measurement.anchor);
  if (measurement.tsc_hz != 0) {
    set(environment, "HEADWAY_TSC_HZ", fmt::to_string(measurement.tsc_hz));
  }
  std::string path;
  for (const std::string& folder : measurement.python_path) {
    if (!path.empty()) path += ':';
    path += folder;
  }
  if (path.empty()) return;
  const std::string* inherited = find_variable(environment, "PYTHONPATH");
  if (inherited != nullptr && !inherited->empty()) path += ':' + *inherited;
  set(environment, "PYTHONPATH", path);
}

}  // namespace

Environment read_environment(const char* const* environ_list) {
  Environment environment;
  for (const char* const* entry = environ_list; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment.try_emplace(std::string(text.substr(0, equals)), text.substr(equals + 1));
  }
  return environment;
}

const std::string* find_variable(const Environment& environment, std::string_view name) {
  const auto it = environment.find(name);
  return it == environment.end() ? nullptr : &it->second;
}

void keep_flight_recorder(Environment& environment, const std::string& attempt_dir) {
  // The second is the first's old name; torch adds the rank.
  for (const std::string_view name : kFlightRecorder) {
    set_if_missing(environment, name, attempt_dir + "/flight-recorder-");
  }
}

void use_autotune_pins(Environment& environment, const std::string& file) {
  if (file.empty()) return;
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(file, failed);
  set(environment, kPinsVariable, failed ? file : whole.string());
}

base::Status drop_unreadable_pins(Environment& environment) {
  const std::string* path = find_variable(environment, kPinsVariable);
  if (path == nullptr || !path->starts_with('/')) return {};
  // Without waiting for who would write into a pipe.
  const base::UniqueFd file(::open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  int error = file.valid() ? 0 : errno;
  struct stat info{};
  if (error == 0 && ::fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode)) error = EISDIR;
  if (error == 0) return {};
  const base::Status status = base::errno_status(*path, "open", error);
  environment.erase(std::string(kPinsVariable));
  return status;
}

std::string identity_names() {
  return fmt::format("{},{}", fmt::join(kIdentity, ","), fmt::join(kFlightRecorder, ","));
}

Environment without_identity(Environment environment) {
  // What was learnt may be more at the next start, and its trace goes elsewhere.
  if (const std::string* set_here = find_variable(environment, "HEADWAY_AUTO_DYNAMIC")) {
    const std::string names = *set_here + ",HEADWAY_AUTO_DYNAMIC,";
    for (std::size_t at = 0, end = 0; (end = names.find(',', at)) != std::string::npos;
         at = end + 1) {
      environment.erase(names.substr(at, end - at));
    }
  }
  for (const std::string_view name : kIdentity) environment.erase(std::string(name));
  for (const std::string_view name : kFlightRecorder) environment.erase(std::string(name));
  return environment;
}

Environment process_environment(Environment base, const RankIdentity* identity,
                                const Measurement* measurement, bool is_python) {
  Environment environment = std::move(base);
  for (const std::string_view name : kInherited) {
    const auto it = environment.find(name);
    if (it != environment.end()) environment.erase(it);
  }
  if (identity != nullptr) {
    add_rank_contract(environment, *identity);
    if (measurement != nullptr) {
      set(environment, kRankPidVariable, std::string(kRankPidPlaceholder));
    }
  }
  if (measurement != nullptr) {
    add_measurement(environment, *measurement);
  } else {
    set(environment, "HEADWAY_DISABLE", "1");  // or a recorder would find a place of its own
  }
  // torchrun passes -u; the variable does the same and a value of the user's own wins.
  if (is_python) set_if_missing(environment, "PYTHONUNBUFFERED", "1");
  return environment;
}

}  // namespace headway::agent
