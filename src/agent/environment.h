// The environment of a rank: torchrun's contract, Headway's own variables, the hook's PYTHONPATH.
// Pure, but for a look at a file of pins: environments are values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/group_place.h"
#include "base/status.h"

namespace headway::agent {

using Environment = std::map<std::string, std::string, std::less<>>;

Environment read_environment(const char* const* environ_list);
// nullptr when it is not set.
const std::string* find_variable(const Environment& environment, std::string_view name);

// One rank of a group, as torchrun would describe it.
struct RankIdentity {
  int local_rank = 0;
  int nproc = 1;     // on this machine
  GroupPlace place;  // of this machine
  int restart_count = 0;
  int restarts_max = 0;
  std::string run_id;
  std::string error_file;  // where torch's error handler writes why it failed; may be empty
};

// What the recorder and the hook need. Without it a process runs unmeasured.
struct Measurement {
  std::string dir;
  std::string job;
  std::uint64_t attempt = 0;
  std::string anchor;                    // "" when there is none
  std::uint64_t tsc_hz = 0;              // 0: the clock is not the TSC
  std::vector<std::string> python_path;  // folders to put in front; empty: no hook
};

// Torch writes what its collectives were doing when one timed out: into the attempt's folder, as
// flight-recorder-<rank>, unless the user has chosen a place.
void keep_flight_recorder(Environment& environment, const std::string& attempt_dir);

// Names the file of pins for the hook, by its whole path: a rank may have another working
// directory.
void use_autotune_pins(Environment& environment, const std::string& file);
// An error: they cannot be read, and are not named any more, or each rank that tunes would say so.
// A path that is not whole was the environment's, and is for the ranks to find.
base::Status drop_unreadable_pins(Environment& environment);

// What the ranks of all starts have in common: without what tells them or their starts apart.
Environment without_identity(Environment environment);
// The names of what that takes away, with commas between.
std::string identity_names();

// Replaced with the process's own id between fork and exec; wide enough for any.
inline constexpr std::string_view kRankPidVariable = "HEADWAY_RANK_PID";
inline constexpr std::string_view kRankPidPlaceholder = "0000000000";

// `identity` null: not a rank (headway run -- CMD). `measurement` null: unmeasured.
Environment process_environment(Environment base, const RankIdentity* identity,
                                const Measurement* measurement, bool is_python);

}  // namespace headway::agent
