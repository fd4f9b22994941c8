// What the facts about a machine mean for Headway. Pure: doctor_probe.h gathers the facts, this
// judges them, so that every verdict has a test. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headway::cli {

// An errno and what it was about; 0 is success.
using Errno = int;

struct JobsFolderFacts {
  std::string path;
  Errno write_error = 0;      // making the folder and a file in it
  Errno fallocate_error = 0;  // allocating a journal's first extent there
  std::string file_system;    // "ext4", "nfs", "tmpfs", …; "0x…" when it has no name here
  std::uint64_t free_bytes = 0;
};

struct PythonFacts {
  std::string command;  // what was run
  std::string error;    // why it did not answer; the rest is then empty
  std::string executable;
  int major = 0;
  int minor = 0;
  std::string torch;       // version; empty: not installed
  std::string hook_error;  // why the recorder's binding does not load; empty: it does
};

struct MachineFacts {
  std::string kernel;
  bool invariant_tsc = false;
  std::string clock_source;
  JobsFolderFacts jobs;
  std::optional<std::uint64_t> shm_bytes;  // size of /dev/shm; none: there is none
  Errno pidfd_error = 0;
  std::optional<int> ptrace_scope;
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> memory_limit_bytes;  // of the cgroup; none: no limit
  std::string core_pattern;
  bool core_limit_zero = true;
  std::optional<bool> clock_synchronised;
  std::uint64_t open_files_max = 0;
  PythonFacts python;
};

enum class Level { ok, note, problem };

struct Finding {
  std::string check;  // stable, for --json
  Level level = Level::ok;
  std::string found;
  std::string next;  // what to do; empty when there is nothing
};

const char* level_name(Level level);

// One finding for each check, always in the same order. Where the jobs folder cannot be used at
// all, nothing is said about its file system.
std::vector<Finding> diagnose(const MachineFacts& facts);

[[nodiscard]] bool has_problem(const std::vector<Finding>& findings);

}  // namespace headway::cli
